/** The rights of a credential. `decide` is never given to an agent. */
export const scopes = ["read", "submit", "decide", "admin"] as const;

export type ApiScope = (typeof scopes)[number];

export type HttpMethod = "GET" | "POST" | "PUT" | "DELETE";

/** A route of the HTTP API, as its server and its clients see it. */
export interface ApiRoute {
  /** The verb of the engine that the route calls, or a name of its own. Names of routes are unique. */
  readonly verb: string;
  readonly method: HttpMethod;
  /** Parts in braces are arguments of the verb. */
  readonly path: string;
  /** The right that a credential needs. */
  readonly scope: ApiScope;
  readonly about: string;
  /** The arguments before the options, in the order of the verb. Default: none. */
  readonly given?: readonly string[];
  /** Options of the verb that the route does not offer. */
  readonly omit?: readonly string[];
  /** The option `requestKey` is the header `Idempotency-Key`. */
  readonly hasRequestKey?: true;
  /** The argument that the header `If-Match` gives: the version that the request replaces. */
  readonly ifMatch?: string;
  /** The media type of the answer, if it is not JSON. */
  readonly media?: string;
}

/** Returns the names of the arguments in a path. */
export function pathArguments(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
}

/** Returns whether the arguments of a method that are not in the path are in the body. */
export function hasBody(method: HttpMethod): boolean {
  return method === "POST" || method === "PUT";
}

/** Returns a name of the engine as the HTTP API writes it: `runId` is `run_id`. */
export function apiName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns a name of the HTTP API as the engine writes it. */
export function engineName(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the fields of an object under the names that the function gives them. Values stay as they are. */
export function renameFields(object: object, rename: (name: string) => string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [rename(name), value]));
}

/** The options whose fields have names of the engine, too. */
const nestedOptions = ["parent", "at", "from", "to", "replan"];

/** Renames the options of a verb, and the fields of those that name a call or a checkpoint. */
export function renameOptions(object: object, rename: (name: string) => string): Record<string, unknown> {
  const renamed = Object.entries(object).map(([name, value]) => {
    const isNested = nestedOptions.includes(name) && typeof value === "object" && value !== null;
    return [rename(name), isNested ? renameFields(value, rename) : value];
  });
  return Object.fromEntries(renamed);
}
