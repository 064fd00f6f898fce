import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { FaultError, fault } from "../core/values/fault.ts";
import { type ApiAppOptions, apiApp } from "./api-app.ts";
import type { ServerAddresses } from "./assert-request-allowed.ts";
import { checkedListener, refuseExpectation } from "./checked-listener.ts";
import { httpLimits } from "./http-limits.ts";
import { refuseConnection } from "./refuse-connection.ts";

/** The times after which a slow client loses its connection. */
type ClientTimes = Pick<typeof httpLimits, "headersMs" | "requestMs" | "idleMs" | "streamStallMs">;

export interface ServeApiOptions extends Omit<ApiAppOptions, "addresses" | "stopping" | "stallMs"> {
  /** 0 takes a free one. */
  readonly port: number;
  readonly host: string;
  /** The address that people use, if a proxy is in front of the server. */
  readonly publicUrl?: string;
  /** Default: those of `httpLimits`. */
  readonly times?: Partial<{ readonly [Name in keyof ClientTimes]: number }>;
}

/** A listening server. */
export interface ApiServer {
  readonly url: string;
  readonly port: number;
  /** Takes no more requests, ends streams, and resolves when running requests have been answered. */
  close(): Promise<void>;
}

/** While a server closes, it looks for idle connections this often. */
const closingIdleMs = 50;

const loopback = ["127.0.0.1", "localhost", "[::1]", "::1"];

/** Serves the HTTP API. Any address but loopback needs a public URL with https: a proxy in front encrypts. */
export async function serveApi({ port, host, publicUrl, times, ...options }: ServeApiOptions): Promise<ApiServer> {
  if (!loopback.includes(host) && !publicUrl?.startsWith("https://"))
    throw new FaultError(
      fault(
        "INVALID_INPUT",
        `${host} is reachable from other machines; give --public-url with https, and put a proxy with TLS in front`,
      ),
    );
  const { headersMs, requestMs, idleMs, streamStallMs } = { ...httpLimits, ...times };
  let addresses: ServerAddresses = { hosts: [], origins: [] };
  const stopping = new AbortController();
  const app = apiApp({
    ...options,
    addresses: () => addresses,
    stopping: stopping.signal,
    stallMs: streamStallMs,
    isReady: async () => !stopping.signal.aborted && (await options.isReady()),
  });
  const server = webServer(app.fetch, { headersMs, requestMs, idleMs }, () => addresses);
  server.maxConnections = httpLimits.connections;
  await new Promise<void>((resolve, reject) => {
    const refused = ({ message }: Error) =>
      reject(new FaultError(fault("INVALID_INPUT", `cannot listen on ${host}:${port}: ${message}`)));
    server.once("error", refused).listen(port, host.replace(/^\[|\]$/g, ""), resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  addresses = serverAddresses(bound, publicUrl);
  const url =
    publicUrl?.replace(/\/$/, "") ??
    `http://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${bound}`;
  return {
    url,
    port: bound,
    close: () =>
      new Promise((resolve) => {
        stopping.abort();
        // A connection becomes idle when its stream ends. A browser would keep it open.
        const idle = setInterval(() => server.closeIdleConnections(), closingIdleMs);
        server.close(() => {
          clearInterval(idle);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

function webServer(
  answer: ReturnType<typeof apiApp>["fetch"],
  { headersMs, requestMs, idleMs }: Record<"headersMs" | "requestMs" | "idleMs", number>,
  addresses: () => ServerAddresses,
): Server {
  const server = createAdaptorServer({
    fetch: answer,
    createServer: ((given: object, listener: RequestListener) =>
      createServer(given, checkedListener(listener, addresses))) as typeof createServer,
    overrideGlobalObjects: false,
    serverOptions: {
      maxHeaderSize: httpLimits.headerBytes,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.min(headersMs, 1000),
    },
  }) as Server;
  server.on("clientError", refuseConnection);
  server.on("checkExpectation", refuseExpectation);
  return server;
}

function serverAddresses(port: number, publicUrl: string | undefined): ServerAddresses {
  const local = ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port}`);
  if (publicUrl === undefined) return { hosts: local, origins: local.map((host) => `http://${host}`) };
  const { host, origin } = new URL(publicUrl);
  return { hosts: [...local, host], origins: [origin] };
}
