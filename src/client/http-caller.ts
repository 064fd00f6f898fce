import { type Fault, FaultError, fault, faults } from "../core/values/fault.ts";
import { type ApiRoute, hasBody, pathArguments } from "../http-api/api-route.ts";
import { apiRoutes } from "../http-api/api-routes.ts";

export interface ClientOptions {
  /** The address of the server, such as `http://127.0.0.1:4111`. */
  readonly url: string;
  /** An API key, or a token of an issuer that the server trusts. */
  readonly token: string;
  /** Default: that of the platform. */
  readonly fetch?: typeof fetch;
}

/** An answer of the server. `body` is undefined if it has none. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Sends requests of the HTTP API. A problem document of the server is thrown as the fault that it describes. */
export class HttpCaller {
  readonly #url: string;
  readonly #token: string;
  readonly #fetch: typeof fetch;
  readonly #routes = new Map(apiRoutes.map((route) => [route.verb, route]));

  constructor({ url, token, fetch: given = fetch }: ClientOptions) {
    this.#url = url.replace(/\/$/, "");
    this.#token = token;
    this.#fetch = given;
  }

  route(verb: string): ApiRoute {
    const route = this.#routes.get(verb);
    if (route === undefined)
      throw new FaultError(
        fault("ROUTE_NOT_FOUND", `the HTTP API has no ${verb}; use the library on the machine of the store`),
      );
    return route;
  }

  /** Calls the route of a verb. Fields that are undefined are left out. */
  async call(verb: string, fields: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<HttpAnswer> {
    const response = await this.open(verb, fields, {}, signal);
    const text = await response.text().catch((error: unknown) => {
      throw unreachable(this.#url, error);
    });
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  }

  /** Opens the answer of a route, for a stream. */
  async open(
    verb: string,
    fields: Readonly<Record<string, unknown>>,
    headers: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Response> {
    const { path, init } = this.#request(this.route(verb), fields);
    const all = { ...headers, ...init.headers, authorization: `Bearer ${this.#token}` };
    const signals = signal === undefined ? {} : { signal };
    const response = await this.#fetch(`${this.#url}${path}`, { ...init, headers: all, ...signals }).catch(
      (error: unknown) => {
        throw signal?.aborted ? error : unreachable(this.#url, error);
      },
    );
    if (response.headers.get("content-type")?.startsWith("application/problem+json"))
      throw await problemError(response);
    return response;
  }

  #request(
    route: ApiRoute,
    fields: Readonly<Record<string, unknown>>,
  ): { readonly path: string; readonly init: { method: string; headers: Record<string, string>; body?: string } } {
    const { request_key, ...given } = fields;
    const headers: Record<string, string> = {};
    if (request_key !== undefined && route.hasRequestKey) headers["idempotency-key"] = String(request_key);
    const names = pathArguments(route.path);
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(given[name])));
    const rest = Object.entries(given).filter(([name, value]) => !names.includes(name) && value !== undefined);
    const { method } = route;
    if (hasBody(method)) {
      headers["content-type"] = "application/json";
      return { path, init: { method, headers, body: JSON.stringify(Object.fromEntries(rest)) } };
    }
    const query = new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)])).toString();
    return { path: query === "" ? path : `${path}?${query}`, init: { method, headers } };
  }
}

function unreachable(url: string, error: unknown): FaultError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
  return new FaultError(
    fault("SERVER_UNREACHABLE", `the server ${url} did not answer (${cause}); check that it runs, then try again`),
    {
      cause: error,
    },
  );
}

async function problemError(response: Response): Promise<Error> {
  const { code, detail, errors } = (await response.json()) as {
    readonly code: string;
    readonly detail: string;
    readonly errors?: Fault["detail"];
  };
  if (!Object.hasOwn(faults, code)) return new Error(`the server failed: ${detail}`);
  return new FaultError(fault(code as Fault["code"], detail, errors));
}
