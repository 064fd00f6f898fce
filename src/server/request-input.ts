import type { IncomingMessage } from "node:http";
import type { Schema } from "../core/ports/schema.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { JsonObject } from "../core/values/json.ts";
import { jsonSchema } from "../schema/schema-from-json-schema.ts";
import { httpLimits } from "./http-limits.ts";
import { readJsonBody } from "./request-body.ts";
import type { HoldBytes } from "./request-load.ts";
import { closedSchema, type ServerRoute } from "./server-route.ts";

/** Reads and validates the arguments of requests of one route. */
export class RequestReader {
  readonly #route: ServerRoute;
  #params: Schema | null = null;
  #query: Schema | null = null;
  #body: Schema | null = null;

  constructor(route: ServerRoute) {
    this.#route = route;
  }

  /** Returns every argument by its name. Throws if one is missing, wrong or unknown. */
  async read(
    request: Request,
    incoming: IncomingMessage,
    params: Readonly<Record<string, string>>,
    hold: HoldBytes,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { query, body } = this.#route;
    // Compiled when first used: a server has many routes, and starts at once.
    this.#params ??= jsonSchema(closedSchema(this.#route.params, []));
    this.#query ??= jsonSchema(query);
    const inPath = parsed(this.#params, "the path", params);
    const inQuery = parsed(this.#query, "the query", readQuery(new URL(request.url).searchParams, query));
    if (body === null) return { ...inQuery, ...inPath };
    this.#body ??= jsonSchema(body);
    const limit = this.#route.verb === "openRun.recordModelCall" ? httpLimits.modelBodyBytes : httpLimits.bodyBytes;
    return { ...parsed(this.#body, "the body", await readJsonBody(incoming, limit, hold)), ...inPath };
  }
}

function parsed(schema: Schema, what: string, value: unknown): JsonObject {
  const read = schema.parse(value);
  if (read.ok) return read.value as JsonObject;
  const { message, detail } = read.fault;
  throw new FaultError(fault("INVALID_INPUT", `${what} of the request was refused: ${message}`, detail));
}

/** Converts the values of a query to the types of its schema. */
function readQuery(given: URLSearchParams, schema: JsonObject): Readonly<Record<string, unknown>> {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonObject>>;
  const values: Record<string, unknown> = {};
  for (const [name, value] of given) {
    if (Object.hasOwn(values, name)) throw new FaultError(fault("INVALID_INPUT", `the query has ${name} twice`));
    values[name] = typedValue(value, Object.hasOwn(properties, name) ? (properties[name] ?? {}) : {});
  }
  return values;
}

function typedValue(value: string, schema: JsonObject): unknown {
  const text = JSON.stringify(schema);
  if (/"type":"(?:number|integer)"/.test(text) && /^-?\d+(?:\.\d+)?$/.test(value)) return Number(value);
  const isBoolean = /"type":"boolean"|:true/.test(text);
  return isBoolean && (value === "true" || value === "false") ? value === "true" : value;
}
