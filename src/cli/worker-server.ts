import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { invalid } from "./invocation.ts";
import type { Meters } from "./metered-store.ts";

/** What a worker's supervisor may ask. */
export interface Health {
  readonly meters: Meters;
  /** Whether it takes runs: its store answers, and it was not told to stop. */
  isReady(): Promise<boolean>;
}

/** Answers /healthz, /readyz and /metrics until it is closed. */
export async function serveHealth(health: Health, port: number, host: string): Promise<Server> {
  const server = createServer((request, response) => {
    // Not read as a URL: not everything that can be asked for is one, and what throws here ends the worker.
    const [path = ""] = (request.url ?? "").split("?");
    void answer(health, request.method ?? "", path, response);
  });
  await new Promise<void>((resolve, reject) => {
    const refused = ({ message }: Error) => reject(invalid(`nobody can be answered on ${host}:${port}: ${message}`));
    server.once("error", refused).listen(port, host, resolve);
  });
  return server;
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function answer(health: Health, method: string, path: string, response: ServerResponse): Promise<void> {
  if (method !== "GET") return say(response, 405, "only GET is answered\n");
  switch (path) {
    case "/healthz":
      return say(response, 200, "ok\n");
    case "/readyz": {
      const ready = await health.isReady().catch(() => false);
      return say(response, ready ? 200 : 503, ready ? "ready\n" : "not ready\n");
    }
    case "/metrics":
      return say(response, 200, metricsText(health.meters), "text/plain; version=0.0.4");
    default:
      return say(response, 404, "ask for /healthz, /readyz or /metrics\n");
  }
}

function say(response: ServerResponse, status: number, text: string, type = "text/plain"): void {
  response.writeHead(status, { "content-type": `${type}; charset=utf-8` }).end(text);
}

const described = {
  appends: ["outcome", "Entries sent to the store, by what became of them; epoch is a write that was fenced."],
  events: ["type", "Facts that were recorded, by their type."],
  claims: ["how", "Runs that were taken up: asked for, or due."],
  takeovers: ["how", "Runs that were taken up from a worker that never gave them back."],
  renewals: ["how", "Leases that were renewed."],
  leases_lost: ["how", "Runs that another worker took over."],
} as const;

/** In the text format of Prometheus. */
function metricsText(meters: Meters): string {
  const lines = Object.entries(described).flatMap(([name, [label, help]]) => [
    `# HELP writ_${name}_total ${help}`,
    `# TYPE writ_${name}_total counter`,
    ...meters.of(name).map(([kind, count]) => `writ_${name}_total{${label}="${kind}"} ${count}`),
  ]);
  return `${lines.join("\n")}\n`;
}
