import type { JsonObject } from "../core/values/json.ts";
import { writVersion } from "../core/values/writ-version.ts";
import { engineSchemas } from "./engine-schemas.ts";
import type { ServerRoute } from "./server-route.ts";

const problem = {
  type: "object",
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
    code: { type: "string" },
    next: { type: "string" },
    errors: {},
    request_id: { type: "string" },
  },
  required: ["type", "title", "status", "detail", "code", "next", "request_id"],
};

/** Returns the OpenAPI 3.1 document of a route table. */
export function openApi(table: readonly ServerRoute[]): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const route of table) {
    paths[route.path] ??= {};
    (paths[route.path] as Record<string, JsonObject>)[route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Writ", version: writVersion, description: "The HTTP API of a Writ server." },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: { ...engineSchemas.definitions, Problem: problem },
    },
  };
}

function operation(route: ServerRoute): JsonObject {
  const header = { name: "Idempotency-Key", in: "header", required: false, schema: { type: "string" } };
  const { properties = {}, required = [] } = route.query as {
    readonly properties?: Readonly<Record<string, JsonObject>>;
    readonly required?: readonly string[];
  };
  const parameters = [
    ...Object.entries(route.params).map(([name, schema]) => ({ name, in: "path", required: true, schema })),
    ...Object.entries(properties).map(([name, schema]) => ({
      name,
      in: "query",
      required: required.includes(name),
      schema,
    })),
    ...(route.hasRequestKey ? [header] : []),
    ...(route.ifMatch === undefined ? [] : [{ ...header, name: "If-Match" }]),
  ];
  return {
    operationId: route.verb,
    summary: route.about,
    description: `Needs the scope \`${route.scope}\`.`,
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== null && {
      requestBody: { required: true, content: { "application/json": { schema: route.body } } },
    }),
    responses: responses(route),
  } as JsonObject;
}

function responses(route: ServerRoute): JsonObject {
  const named = Object.entries(route.answers).map(([status, schema]) => {
    const content = schema === null ? route.media && { [route.media]: {} } : { "application/json": { schema } };
    return [
      status,
      { description: status === "204" ? "Done" : "The answer", ...(content && status !== "204" && { content }) },
    ];
  });
  const failed = {
    description: "The request was refused or failed",
    content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
  };
  return { ...Object.fromEntries(named), default: failed };
}
