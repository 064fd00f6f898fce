import type { JsonObject } from "../core/values/json.ts";
import { type ApiRoute, pathArguments } from "../http-api/api-route.ts";
import { apiRoutes } from "../http-api/api-routes.ts";
import { engineSchemas } from "./engine-schemas.ts";
import { httpLimits } from "./http-limits.ts";
import { openApi } from "./open-api.ts";
import { runHandlers } from "./run-handlers.ts";
import { streamRun, streamTab } from "./run-stream.ts";
import { RunWaits } from "./run-waits.ts";
import { type RouteArguments, type ServerRoute, serverRoute } from "./server-route.ts";
import { sessionHandler, sessionRouteHandlers } from "./session-route-handlers.ts";
import { answerOf, verbHandler } from "./verb-handler.ts";

const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;
const wait = { type: "integer", minimum: 0, maximum: httpLimits.waitMs } as const;
const any: JsonObject = {};

const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
const fields = (properties: Readonly<Record<string, JsonObject>>): JsonObject => ({
  type: "object",
  properties,
  required: Object.keys(properties),
});

/** The arguments of routes whose arguments are not those of the verb. */
const ownArguments: Readonly<Record<string, RouteArguments>> = {
  "run.result": { fields: { wait_ms: wait }, required: [] },
  "run.finished": { fields: { wait_ms: wait }, required: [] },
  "run.events": { fields: { after: count, limit: { ...count, minimum: 1 } }, required: [] },
  "run.blob": { fields: { bytes: count }, required: ["bytes"] },
  "run.export": { fields: { format: { enum: ["journal", "otlp"] } }, required: [] },
  "run.stream": { fields: { after: count }, required: [] },
  stream: { fields: { runs: text, lists: { const: "runs" } }, required: [] },
  whoami: { fields: {}, required: [] },
  openapi: { fields: {}, required: [] },
  "openRun.answerModelCall": { fields: { answer: any, failed: text }, required: [] },
};

const handle = fields({ run_id: text, attached: { type: "boolean" } });
const recordedEvent = fields({
  position: count,
  ids: { type: "object" },
  event: { type: "object" },
  durable: { type: "boolean" },
});
const principal = fields({ id: text, kind: { enum: ["agent", "person", "service"] }, tenant: text });
const begun = fields({ go: { const: true }, token: text });

/** The answers of routes that do not answer with the result of the verb. */
const ownAnswers: Readonly<Record<string, ServerRoute["answers"]>> = {
  submit: { 200: handle, 201: handle },
  resume: { 200: handle },
  "checkpoints.fork": { 201: handle },
  "run.result": { 200: reference("RunResult"), 202: reference("RunProgress") },
  "run.finished": { 200: reference("RunResult"), 202: reference("RunProgress") },
  "run.events": {
    200: fields({ events: { type: "array", items: recordedEvent }, next: { anyOf: [{ type: "null" }, count] } }),
  },
  "run.blob": { 200: null },
  "run.export": { 200: { type: "object" } },
  "run.stream": { 200: null, 204: null },
  stream: { 200: null },
  whoami: { 200: fields({ principal, scopes: { type: "array", items: text } }) },
  openapi: { 200: { type: "object" } },
  openRun: {
    200: fields({ session_id: text, run_id: text, attached: { type: "boolean" } }),
    201: fields({ session_id: text, run_id: text, attached: { type: "boolean" } }),
  },
  "openRun.recordModelCall": { 200: { anyOf: [begun, reference("ModelAnswer")] } },
  "openRun.answerModelCall": { 200: reference("ModelAnswer") },
  state: {
    200: fields({
      version: count,
      at: { anyOf: [{ type: "null" }, count] },
      slices: { type: "object" },
      snapshot: { type: "object" },
    }),
  },
};

/** Returns the whole route table of a server. It is the source of validation, OpenAPI and the tests of authorisation. */
export function makeRouteTable(): readonly ServerRoute[] {
  const handlers: Readonly<Record<string, ServerRoute["handler"]>> = {
    ...runHandlers(new RunWaits()),
    ...sessionRouteHandlers,
    "run.stream": streamRun,
    stream: streamTab,
    whoami: async ({ credential }) => answerOf({ principal: credential.principal, scopes: credential.scopes }),
    openapi: async () => answerOf(openApi(table)),
  };
  const table: readonly ServerRoute[] = apiRoutes.map((route) =>
    serverRoute(route, argumentsOf(route), answersOf(route), handlers[route.verb] ?? defaultHandler(route)),
  );
  return table;
}

function defaultHandler(route: ApiRoute): ServerRoute["handler"] {
  return route.verb.startsWith("openRun.") ? sessionHandler(route) : verbHandler(route);
}

function argumentsOf(route: ApiRoute): RouteArguments {
  const own = ownArguments[route.verb];
  if (own !== undefined) return own;
  const { given, options, required } = schemasOf(route.verb);
  const isCall = route.verb === "openRun.beginCall";
  const { call, ...others } = given;
  const named = isCall
    ? ((call as { readonly properties: typeof given }).properties as typeof given)
    : { ...others, ...(call && { call }) };
  const offered = Object.entries(options).filter(([name]) => !route.omit?.includes(name));
  const inPath = pathArguments(route.path);
  return {
    fields: { ...named, ...Object.fromEntries(offered) },
    required: [...Object.keys(named).filter((name) => !inPath.includes(name)), ...required],
  };
}

function answersOf({ verb }: ApiRoute): ServerRoute["answers"] {
  const own = ownAnswers[verb];
  if (own !== undefined) return own;
  const { answer } = schemasOf(verb);
  return answer.type === "null" ? { 204: null } : { 200: answer };
}

function schemasOf(verb: string) {
  const schemas = engineSchemas.verbs[verb];
  if (schemas === undefined) throw new Error(`there are no schemas of ${verb}; run node scripts/engine-schemas.js`);
  return schemas;
}
