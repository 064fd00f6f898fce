import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { invalidInput } from "./invocation.ts";
import type { StoreOperationCounters } from "./store-operation-counters.ts";

/** The data behind the health endpoints of a worker. */
export interface HealthSource {
  readonly meters: StoreOperationCounters;
  /** Returns true if the worker takes runs: its store answers, and it is not stopping. */
  isReady(): Promise<boolean>;
}

/** Serves /healthz, /readyz and /metrics until the server is closed. */
export async function serveHealth(health: HealthSource, port: number, host: string): Promise<Server> {
  const server = createServer((request, response) => {
    // Not parsed as a URL: parsing throws for some requests, and an error here would end the worker.
    const [path = ""] = (request.url ?? "").split("?");
    void handleRequest(health, request.method ?? "", path, response);
  });
  await new Promise<void>((resolve, reject) => {
    const refused = ({ message }: Error) => reject(invalidInput(`cannot listen on ${host}:${port}: ${message}`));
    server.once("error", refused).listen(port, host, resolve);
  });
  return server;
}

export function listeningPort(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function handleRequest(
  health: HealthSource,
  method: string,
  path: string,
  response: ServerResponse,
): Promise<void> {
  if (method !== "GET") return respond(response, 405, "only GET is allowed\n");
  switch (path) {
    case "/healthz":
      return respond(response, 200, "ok\n");
    case "/readyz": {
      const ready = await health.isReady().catch(() => false);
      return respond(response, ready ? 200 : 503, ready ? "ready\n" : "not ready\n");
    }
    case "/metrics":
      return respond(response, 200, metricsText(health.meters), "text/plain; version=0.0.4");
    default:
      return respond(response, 404, "request /healthz, /readyz or /metrics\n");
  }
}

function respond(response: ServerResponse, status: number, text: string, type = "text/plain"): void {
  response.writeHead(status, { "content-type": `${type}; charset=utf-8` }).end(text);
}

const metricHelp = {
  appends: ["outcome", "Entries sent to the store, by outcome; epoch is a write that was fenced."],
  events: ["type", "Recorded events, by type."],
  claims: ["how", "Claimed runs: by request, or due."],
  takeovers: ["how", "Runs that were taken over from a worker that did not release them."],
  renewals: ["how", "Renewed leases."],
  leases_lost: ["how", "Runs that another worker took over."],
} as const;

/** Returns the metrics in the text format of Prometheus. */
export function metricsText(meters: StoreOperationCounters): string {
  const lines = Object.entries(metricHelp).flatMap(([name, [label, help]]) => [
    `# HELP writ_${name}_total ${help}`,
    `# TYPE writ_${name}_total counter`,
    ...meters.of(name).map(([kind, count]) => `writ_${name}_total{${label}="${kind}"} ${count}`),
  ]);
  return `${lines.join("\n")}\n`;
}
