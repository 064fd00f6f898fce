import type { JsonObject } from "../../src/core/values/json.ts";
import type { ServerRoute } from "../../src/server/server-route.ts";

/** The objects of a tenant that requests name. */
export interface SampleObjects {
  readonly run_id: string;
  readonly gate_id: string;
  readonly step_id: string;
  readonly session_id: string;
}

const checkpoint = ({ run_id, step_id }: SampleObjects) => ({ run_id, step_id, side: "after" });

/** Values of arguments that a schema does not describe well enough. */
const valuesOf = (objects: SampleObjects): Readonly<Record<string, unknown>> => ({
  ...objects,
  plan: { steps: [{ step_id: "echo", name: "text.echo", payload: { to: "x" } }] },
  tool: "text.echo",
  input: { to: "x" },
  payload: { to: "x" },
  calls: [{ id: "call_1", tool: "text.echo", input: { to: "x" } }],
  request: { model: "m", messages: [{ role: "user", content: "hello" }] },
  snapshot: { schema_version: "1", created_at: 1, version: 1, tag: null, slices: {} },
  document: { name: "p", version: "1", scope: { tenant: "acme" }, rules: [] },
  at: checkpoint(objects),
  from: checkpoint(objects),
  to: checkpoint(objects),
  cron: "0 9 * * *",
  period: "2023-11",
  ended_before: 1,
  reason: "a test",
});

/** Returns a request of a route, with every required argument. */
export function sampleRequest(
  route: ServerRoute,
  objects: SampleObjects,
  given: Readonly<Record<string, unknown>> = {},
): { readonly path: string; readonly body: string | null } {
  const values = { ...valuesOf(objects), ...given };
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(values[name] ?? "x")),
  );
  const fieldsOf = ({ properties = {}, required = [] }: JsonObject) => {
    const names = [...(required as readonly string[]), ...Object.keys(given)].filter(
      (name) => name in (properties as object),
    );
    return Object.fromEntries(
      names.map((name) => [name, values[name] ?? valueFor((properties as Record<string, JsonObject>)[name] ?? {})]),
    );
  };
  const query = new URLSearchParams(
    Object.entries(fieldsOf(route.query)).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return {
    path: query === "" ? path : `${path}?${query}`,
    body: route.body === null ? null : JSON.stringify(fieldsOf(route.body)),
  };
}

function valueFor(schema: JsonObject): unknown {
  if ("const" in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.type === "number" || schema.type === "integer") return 1;
  if (schema.type === "array") return [];
  return schema.type === "object" ? {} : "x";
}

/** Sends a request of a route. */
export function send(
  url: string,
  route: Pick<ServerRoute, "method">,
  { path, body }: { readonly path: string; readonly body: string | null },
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: route.method,
    headers: { ...(body !== null && { "content-type": "application/json" }), ...headers },
    ...(body !== null && { body }),
    signal: AbortSignal.timeout(20_000),
  });
}
