import { parseStrictJson } from "../core/json/strict-json.ts";
import type { Schema } from "../core/ports/schema.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { JsonObject } from "../core/values/json.ts";
import { jsonSchema } from "../schema/schema-from-json-schema.ts";
import { httpLimits } from "./http-limits.ts";
import { HttpFault } from "./problem.ts";
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
  async read(request: Request, params: Readonly<Record<string, string>>): Promise<Readonly<Record<string, unknown>>> {
    const { query, body } = this.#route;
    // Compiled when first used: a server has many routes, and starts at once.
    this.#params ??= jsonSchema(closedSchema(this.#route.params, []));
    this.#query ??= jsonSchema(query);
    const inPath = parsed(this.#params, "the path", params);
    const inQuery = parsed(this.#query, "the query", readQuery(new URL(request.url).searchParams, query));
    if (body === null) return { ...inQuery, ...inPath };
    this.#body ??= jsonSchema(body);
    const limit = this.#route.verb === "openRun.recordModelCall" ? httpLimits.modelBodyBytes : httpLimits.bodyBytes;
    return { ...parsed(this.#body, "the body", await readBody(request, limit)), ...inPath };
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

/** Reads a JSON body. An absent one is an empty object. */
async function readBody(request: Request, limit: number): Promise<unknown> {
  if (request.headers.has("content-encoding")) throw unsupported("send the body without a content encoding");
  const bytes = await readBytes(request, limit);
  if (bytes.length === 0) return {};
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json(?:;\s*charset=utf-8)?$/i.test(type)) throw unsupported("send the body as application/json");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new FaultError(fault("INVALID_INPUT", "the body is not UTF-8"));
  }
  const limits = { bytes: limit, depth: httpLimits.bodyDepth, nodes: httpLimits.bodyValues };
  const json = parseStrictJson(text, limits);
  if (json.ok) return json.value;
  const reasons = json.reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
  const message = `the body was refused: ${reasons.join("; ")}`;
  throw new FaultError(fault(json.tooLarge ? "LIMIT_EXCEEDED" : "INVALID_INPUT", message, { reasons }));
}

function unsupported(message: string): HttpFault {
  return new HttpFault(415, fault("INVALID_INPUT", message));
}

/** Reads a body within its limit. Nothing larger is ever kept. */
async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const tooLarge = () => new FaultError(fault("LIMIT_EXCEEDED", `the body is larger than ${limit} bytes`));
  if (Number(request.headers.get("content-length") ?? 0) > limit) throw tooLarge();
  if (request.body === null) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > limit) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}
