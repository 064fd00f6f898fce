import type { Engine, RunHandle } from "../engine/api/engine-api.ts";
import type { ListPage } from "../engine/api/list-api.ts";
import type { StateView } from "../engine/api/state-api.ts";
import { type ApiRoute, engineName, renameFields, renameOptions } from "../http-api/api-route.ts";
import { entityTag } from "./entity-tags.ts";
import type { RouteAnswer, RouteCall } from "./server-route.ts";

type EngineMethod = (...given: unknown[]) => unknown;

/** Splits the input of a request into the arguments of a verb, as the engine names them. */
export function verbArguments(
  { given = [] }: Pick<ApiRoute, "given">,
  { input, requestKey }: Pick<RouteCall, "input" | "requestKey">,
): { readonly given: readonly unknown[]; readonly options: Readonly<Record<string, unknown>> } {
  const options = Object.fromEntries(Object.entries(input).filter(([name]) => !given.includes(name)));
  return {
    given: given.map((name) => (isCheckpoint(name, input[name]) ? renameFields(input[name], engineName) : input[name])),
    options: { ...renameOptions(options, engineName), ...(requestKey !== null && { requestKey }) },
  };
}

/** These arguments name a checkpoint, by an id or by fields, which have names of the engine. */
function isCheckpoint(name: string, value: unknown): value is object {
  return ["at", "from", "to"].includes(name) && typeof value === "object" && value !== null;
}

/** Returns a handler that calls the verb of the engine, as the principal of the credential. */
export function verbHandler(route: ApiRoute): (call: RouteCall) => Promise<RouteAnswer> {
  const [part = "", method] = route.verb.split(".");
  return async (call) => {
    const { given, options } = verbArguments(route, call);
    const owner = method === undefined ? call.engine : call.engine[part as keyof Engine];
    const verb = (owner as unknown as Record<string, EngineMethod>)[method ?? part] as EngineMethod;
    return answerOf(await verb.call(owner, ...given, { ...options, principal: call.principal }));
  };
}

/** Returns a handler that calls a method of the run in the path. */
export function handleHandler(
  use: (handle: RunHandle, call: RouteCall) => Promise<RouteAnswer>,
): (call: RouteCall) => Promise<RouteAnswer> {
  return async (call) => use(await call.engine.run(String(call.input.run_id), { principal: call.principal }), call);
}

/** Returns the answer for the result of a verb. */
export function answerOf(result: unknown): RouteAnswer {
  if (result === undefined) return { status: 204 };
  if (isListPage(result)) {
    const { next, count } = result;
    return { status: 200, body: { items: [...result], next, count } };
  }
  if (isHandle(result)) {
    const { run_id, attached } = result;
    return { status: attached ? 200 : 201, body: { run_id, attached } };
  }
  if (isStateView(result)) {
    const { version, at } = result;
    return {
      status: 200,
      body: { version, at, slices: result.all(), snapshot: result.snapshot({ includeAll: true }) },
      etag: entityTag(version),
    };
  }
  return { status: 200, body: result, ...(isVersioned(result) && { etag: entityTag(result.version) }) };
}

/** A stored policy. */
function isVersioned(result: unknown): result is { readonly version: number } {
  return typeof result === "object" && result !== null && "version" in result && "document" in result;
}

function isListPage(result: unknown): result is ListPage<unknown> {
  return Array.isArray(result) && "next" in result;
}

function isHandle(result: unknown): result is RunHandle {
  return typeof result === "object" && result !== null && "attached" in result && "finished" in result;
}

function isStateView(result: unknown): result is StateView {
  return typeof result === "object" && result !== null && "snapshot" in result && typeof result.snapshot === "function";
}
