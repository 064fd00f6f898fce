import { apiName, hasBody, pathArguments, renameFields } from "../../src/http-api/api-route.ts";
import { apiRoutes } from "../../src/http-api/api-routes.ts";
import { csrfToken, endSession, noteBuild } from "./browser-login.ts";
import { readProblem } from "./problem.ts";
import type { RouteTypes } from "./route-types.ts";

const routes = new Map(apiRoutes.map((route) => [route.verb, route]));

type Fields = Readonly<Record<string, unknown>>;

/**
 * Calls a route as the person who is logged in. Options have the names of the engine. Throws an ApiProblem; if the session
 * has ended, the page asks for a new login and keeps its fields.
 */
export async function callRoute<Verb extends keyof RouteTypes>(
  verb: Verb,
  fields: RouteTypes[Verb]["takes"],
  signal?: AbortSignal,
): Promise<RouteTypes[Verb]["answers"]> {
  const { path, init } = await requestOf(verb, sentFields(fields as Fields));
  const response = await fetch(path, { ...init, ...(signal && { signal }) });
  noteBuild(response);
  if (response.ok) return (await readBody(response)) as RouteTypes[Verb]["answers"];
  if (response.status === 401) endSession();
  throw await readProblem(response);
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  return text === "" ? undefined : JSON.parse(text);
}

/** Renames the fields for the HTTP API. Those that name a checkpoint are renamed inside, too. */
function sentFields(fields: Fields): Fields {
  const named = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    named.map(([name, value]) => {
      const isCheckpoint = ["at", "from", "to"].includes(name) && typeof value === "object" && value !== null;
      return [apiName(name), isCheckpoint ? renameFields(value, apiName) : value];
    }),
  );
}

async function requestOf(
  verb: string,
  { request_key, ...fields }: Fields,
): Promise<{ readonly path: string; readonly init: RequestInit }> {
  const route = routes.get(verb);
  if (route === undefined) throw new Error(`the HTTP API has no route ${verb}`);
  const names = pathArguments(route.path);
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(fields[name])));
  const rest = Object.entries(fields).filter(([name]) => !names.includes(name));
  const headers: Record<string, string> = {};
  const { method } = route;
  if (method !== "GET") headers["x-writ-csrf"] = await csrfToken();
  if (request_key !== undefined) headers["idempotency-key"] = String(request_key);
  if (hasBody(method)) {
    headers["content-type"] = "application/json";
    return { path, init: { method, headers, body: JSON.stringify(Object.fromEntries(rest)) } };
  }
  const query = new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return { path: query === "" ? path : `${path}?${query}`, init: { method, headers } };
}
