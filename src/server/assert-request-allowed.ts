import { fault } from "../core/values/fault.ts";
import { httpLimits } from "./http-limits.ts";
import { HttpFault } from "./problem.ts";

/** The addresses under which a server is used. */
export interface ServerAddresses {
  /** Values of the header `Host`, exactly. */
  readonly hosts: readonly string[];
  /** Values of the header `Origin`, exactly. */
  readonly origins: readonly string[];
}

/** Names under which clients could send a secret in a query, where logs and histories would keep it. */
const secretNames = ["token", "access_token", "api_key", "apikey", "key", "authorization", "link"];

/** Refuses requests that use another name of this server, that other pages send, or that have a secret in their address. */
export function assertRequestAllowed(request: Request, { hosts, origins }: ServerAddresses, path: string): void {
  const host = request.headers.get("host");
  if (host === null || !hosts.includes(host))
    throw new HttpFault(
      421,
      fault("AUTH_FORBIDDEN", "this server is not known by the host of the request; see --public-url"),
    );
  const origin = request.headers.get("origin");
  if (origin !== null && !origins.includes(origin))
    throw new HttpFault(403, fault("AUTH_FORBIDDEN", "pages of another origin may not use this server"));
  if (request.url.length > httpLimits.urlBytes)
    throw new HttpFault(414, fault("LIMIT_EXCEEDED", `the address is longer than ${httpLimits.urlBytes} bytes`));
  const query = new URL(request.url).searchParams;
  const secret = [...query.keys()].find((name) => secretNames.includes(name.toLowerCase()));
  if (secret !== undefined)
    throw new HttpFault(400, fault("INVALID_INPUT", `${secret} must not be in the query; send it as a bearer token`));
  if (path.includes("//") || /%2e|%00|\\/i.test(path))
    throw new HttpFault(400, fault("INVALID_INPUT", "the path is not in its plain form"));
}
