import { FaultError, fault } from "../core/values/fault.ts";
import { type ServerRoute, serverRoute } from "./server-route.ts";

/** The address of the supervisor of a demo, and the secret that its requests carry. */
export interface DemoSupervisor {
  readonly url: string;
  readonly secret: string;
}

const answer = { 200: { type: "object" } } as const;
const text = { type: "string" } as const;

/** Returns the routes of a server that a demo started: they pass to its supervisor. Every other server has none. */
export function demoRoutes(supervisor: DemoSupervisor | undefined): readonly ServerRoute[] {
  if (supervisor === undefined) return [];
  return [
    serverRoute(
      { verb: "demo", method: "GET", path: "/v1/demo", scope: "read", about: "Shows the demo" },
      { fields: {}, required: [] },
      answer,
      async ({ signal }) => ({ status: 200, body: await ask(supervisor, "GET", "/", signal) }),
    ),
    serverRoute(
      {
        verb: "demo.act",
        method: "POST",
        path: "/v1/demo/{action}",
        scope: "decide",
        about: "Starts a scenario of the demo, restores its files, or kills its server",
      },
      { fields: { action: { ...text, pattern: "^[a-z]{1,30}$" } }, required: [] },
      answer,
      async ({ input, signal }) => ({ status: 200, body: await ask(supervisor, "POST", `/${input.action}`, signal) }),
    ),
  ];
}

async function ask({ url, secret }: DemoSupervisor, method: string, path: string, signal: AbortSignal) {
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch(new URL(path, url), { method, headers, signal }).catch((error: unknown) => {
    throw new FaultError(fault("SERVER_UNREACHABLE", "the supervisor of the demo does not answer"), { cause: error });
  });
  if (response.status === 404) throw new FaultError(fault("ROUTE_NOT_FOUND", "the demo has no such action"));
  if (!response.ok) throw new FaultError(fault("INVALID_INPUT", await response.text()));
  return response.json();
}
