import type { IncomingMessage } from "node:http";
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

/**
 * Refuses requests that use another name of this server, that other pages send, that have a secret in their address, or
 * whose path has another form after it was parsed. Reads the request as the client sent it.
 */
export function assertRequestAllowed(
  { url = "", headersDistinct }: Pick<IncomingMessage, "url" | "headersDistinct">,
  { hosts, origins }: ServerAddresses,
): void {
  const [host, ...others] = headersDistinct.host ?? [];
  if (host === undefined || others.length > 0 || !hosts.includes(host))
    throw new HttpFault(
      421,
      fault("AUTH_FORBIDDEN", "this server is not known by the host of the request; see --public-url"),
    );
  if (headersDistinct.origin?.some((origin) => !origins.includes(origin)))
    throw new HttpFault(403, fault("AUTH_FORBIDDEN", "pages of another origin may not use this server"));
  if (url.length > httpLimits.urlBytes)
    throw new HttpFault(414, fault("LIMIT_EXCEEDED", `the address is longer than ${httpLimits.urlBytes} bytes`));
  const [path = "", query = ""] = url.split(/\?(.*)/s);
  const secret = [...new URLSearchParams(query).keys()].find((name) => secretNames.includes(name.toLowerCase()));
  if (secret !== undefined)
    throw new HttpFault(400, fault("INVALID_INPUT", `${secret} must not be in the query; send it as a bearer token`));
  if (!path.startsWith("/") || notPlain.test(path))
    throw new HttpFault(400, fault("INVALID_INPUT", "the path is not in its plain form"));
}

/** Parts of a path that parsers, or a proxy in front of the server, read in another way. */
const notPlain = /\/\/|\/\.\.?(?:\/|$)|%2e|%00|[\\#]/i;
