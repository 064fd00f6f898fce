import { isJsonObject, type Json, type JsonObject } from "../core/values/json.ts";
import type { ModelAnswer } from "../engine/api/model-api.ts";
import type { OpenRun } from "../engine/api/open-run-api.ts";
import { withDistinctIds } from "./distinct-call-ids.ts";
import { ModelAnswerStream } from "./model-answer-stream.ts";

export interface RecordedFetchOptions {
  /** Requests of one lane follow each other. A title or a summary has a lane of its own. Default: main. */
  readonly lane?: string;
  /** Returns the request without the values that differ after a restart, such as the current time. */
  readonly normalize?: (request: JsonObject) => JsonObject;
  /** JSON pointers to fields of the request that are recorded as digests. */
  readonly redact?: readonly string[];
  /** Makes the requests. Default: the `fetch` of the process. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Learns of the requests to the model and of its answers. */
export interface ModelListener {
  /** Called before the model is asked. */
  onRequest(request: JsonObject): Promise<void>;
  onAnswer(answer: ModelAnswer): void;
}

/**
 * Returns a `fetch` for the client of a model provider. The answer of the model is recorded before a tool call of it can
 * be made. A loop that starts again is given the recorded answers of its unfinished turn, and the model is not asked for
 * them. Headers are not recorded. Requests that are not to a model pass unchanged.
 */
export function recordedFetch(
  run: OpenRun,
  options: RecordedFetchOptions,
  listener: ModelListener,
): typeof globalThis.fetch {
  const { fetch: inner = globalThis.fetch, ...terms } = options;
  return async (target, init) => {
    const request = modelRequest(target, init);
    if (request === null) return inner(target, init);
    await listener.onRequest(request);
    return askRecorded(run, request, { inner, target, init, terms, listener });
  };
}

interface Asked {
  readonly inner: typeof globalThis.fetch;
  readonly target: Parameters<typeof globalThis.fetch>[0];
  readonly init: RequestInit | undefined;
  readonly terms: Omit<RecordedFetchOptions, "fetch">;
  readonly listener: ModelListener;
}

/** An answer with an error status. The client of the provider reads it and decides whether to ask again. */
class ErrorResponse extends Error {
  readonly response: Response;

  constructor(response: Response) {
    super(`the provider answered with the status ${response.status}`);
    this.response = response;
  }
}

async function askRecorded(
  run: OpenRun,
  request: JsonObject,
  { inner, target, init, terms, listener }: Asked,
): Promise<Response> {
  const live = new ModelAnswerStream();
  const signal = init?.signal ?? undefined;
  const recorded = run.recordModelCall(
    request,
    async (context) => {
      const headers = tracedHeaders(target, init, context.traceparent);
      const response = await inner(target, { ...init, headers, signal: context.signal });
      if (!response.ok) throw new ErrorResponse(response);
      live.headers = response.headers;
      return isEventStream(response) ? response.body : ((await response.json()) as Json);
    },
    { ...terms, onChunk: (chunk) => live.push(String(chunk)), ...(signal && { signal }) },
  );
  const known = recorded.then((answer) => {
    listener.onAnswer(answer);
    return answer;
  });
  live.endWith(known);
  try {
    const answer = await Promise.race([live.opened, known]);
    if (answer === null || answer.content.form !== "json") return live.response();
    const { json } = withDistinctIds(answer.content, answer.step_id);
    return Response.json(json, { headers: live.responseHeaders("application/json") });
  } catch (error) {
    if (error instanceof ErrorResponse) return error.response;
    throw error;
  }
}

/** The headers of the client, and the trace context of this attempt unless the client has one. */
function tracedHeaders(target: Asked["target"], init: RequestInit | undefined, traceparent: string): Headers {
  const headers = new Headers(init?.headers ?? (target instanceof Request ? target.headers : undefined));
  if (!headers.has("traceparent")) headers.set("traceparent", traceparent);
  return headers;
}

function isEventStream({ headers, body }: Response): boolean {
  return body !== null && (headers.get("content-type") ?? "").includes("text/event-stream");
}

/** Returns the request to a model, or null for any other request. */
function modelRequest(target: Asked["target"], init: RequestInit | undefined): JsonObject | null {
  if (typeof init?.body !== "string" || (init.method ?? "GET").toUpperCase() !== "POST") return null;
  const body = parsed(init.body);
  if (body === null || !isJsonObject(body)) return null;
  const { messages, contents, input } = body;
  const path = new URL(target instanceof Request ? target.url : String(target)).pathname;
  const asks =
    Array.isArray(messages) || Array.isArray(contents) || (input !== undefined && path.endsWith("/responses"));
  return asks ? body : null;
}

/** Returns the names of the functions of the client that a request offers the model. */
export function offeredTools({ tools }: JsonObject): readonly string[] {
  const list = Array.isArray(tools) ? (tools as readonly JsonObject[]) : [];
  return list.flatMap(({ name, function: named }) => {
    const own = isJsonObject(named) ? named.name : name;
    return typeof own === "string" ? [own] : [];
  });
}

/** Returns the tools of a request that the provider executes: those with a type that names no function of the client. */
export function providerTools({ tools }: JsonObject): readonly string[] {
  const list = Array.isArray(tools) ? (tools as readonly JsonObject[]) : [];
  return list.flatMap(({ type, name }) => {
    const isOwn = type === undefined || type === "function" || type === "custom";
    return isOwn || typeof type !== "string" ? [] : [typeof name === "string" ? name : type];
  });
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}
