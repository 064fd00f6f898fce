import type { JsonObject } from "../core/values/json.ts";
import type { Engine, PrincipalInput } from "../engine/api/engine-api.ts";
import { type ApiRoute, hasBody, pathArguments } from "../http-api/api-route.ts";
import type { AgentSessions } from "./agent-sessions.ts";
import type { Credential } from "./credential.ts";

/** The data that a handler works with. `input` has every argument of the request, by its name in the API, validated. */
export interface RouteCall {
  readonly engine: Engine;
  readonly credential: Credential;
  readonly principal: PrincipalInput;
  readonly input: Readonly<Record<string, unknown>>;
  /** The header `Idempotency-Key`, or null. */
  readonly requestKey: string | null;
  readonly lastEventId: string | null;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
  readonly sessions: AgentSessions;
  /** Returns the credential as it is valid now, or null if it no longer is. */
  authenticateAgain(): Promise<Credential | null>;
}

/** The answer of a handler: JSON with a status, or a response of its own. */
export type RouteAnswer =
  | { readonly status: 200 | 201 | 202; readonly body: unknown; readonly etag?: string }
  | { readonly status: 204 }
  | Response;

/** A route with everything that its server needs: the schemas of its arguments and answers, and its handler. */
export interface ServerRoute extends ApiRoute {
  readonly params: Readonly<Record<string, JsonObject>>;
  /** The schema of the query as an object. */
  readonly query: JsonObject;
  /** Null: the request has no body. */
  readonly body: JsonObject | null;
  /** The schema of each answer, by its status. Null: the answer has no JSON. */
  readonly answers: Readonly<Record<number, JsonObject | null>>;
  readonly handler: (call: RouteCall) => Promise<RouteAnswer>;
}

/** The arguments of a route that are not in its path, and which of them it needs. */
export interface RouteArguments {
  readonly fields: Readonly<Record<string, JsonObject>>;
  readonly required: readonly string[];
}

/** Makes a route of the table: its arguments are in the path, and then in the body or the query. */
export function serverRoute(
  route: ApiRoute,
  { fields, required }: RouteArguments,
  answers: ServerRoute["answers"],
  handler: ServerRoute["handler"],
): ServerRoute {
  const names = pathArguments(route.path);
  const params = Object.fromEntries(names.map((name) => [name, fields[name] ?? { type: "string" }]));
  const others = Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
  const rest = closedSchema(
    others,
    required.filter((name) => !names.includes(name)),
  );
  return hasBody(route.method)
    ? { ...route, params, query: closedSchema({}, []), body: rest, answers, handler }
    : { ...route, params, query: rest, body: null, answers, handler };
}

/** Returns the schema of an object with these fields and no others. */
export function closedSchema(properties: RouteArguments["fields"], required: readonly string[]): JsonObject {
  return { type: "object", properties, ...(required.length > 0 && { required }), additionalProperties: false };
}
