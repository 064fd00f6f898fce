import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { loadServerSdk } from "./load-sdk.ts";
import type { McpGateway } from "./mcp-gateway.ts";
import { mcpLimits } from "./mcp-protocol.ts";

export interface GatewayHttpOptions {
  /** 0 takes a free one. */
  readonly port: number;
  /** Every request needs it as a bearer token. */
  readonly token: string;
}

/** Serves a gateway over HTTP on the loopback address, at /mcp. Close the server to end it. */
export async function serveGatewayHttp(
  gateway: Pick<McpGateway, "server">,
  { port, token }: GatewayHttpOptions,
): Promise<Server> {
  const sdk = await loadServerSdk();
  const handler = sdk.createMcpHandler(gateway.server);
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  server.requestTimeout = mcpLimits.requestMs;
  server.headersTimeout = 10_000;
  server.maxConnections = mcpLimits.connections;
  server.on("close", () => void handler.close());

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!hasToken(request, token)) return refuse(response, 401, "this gateway needs its bearer token");
    const [path = ""] = (request.url ?? "").split("?");
    if (path !== "/mcp") return refuse(response, 404, "this gateway is at /mcp");
    const asked = toRequest(request);
    const refused =
      sdk.hostHeaderValidationResponse(asked, sdk.localhostAllowedHostnames()) ??
      sdk.originValidationResponse(asked, sdk.localhostAllowedOrigins());
    await send(response, refused ?? (await handler.fetch(asked)));
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  });
  return server;
}

/** Compares digests, so that the time of the comparison tells nothing about the token. */
function hasToken({ headers }: IncomingMessage, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(headers.authorization ?? ""), digest(`Bearer ${token}`));
}

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(`${text}\n`);
}

function toRequest(request: IncomingMessage): Request {
  const ended = new AbortController();
  request.once("close", () => (request.complete ? undefined : ended.abort()));
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  const hasBody = request.method !== "GET" && request.method !== "HEAD";
  return new Request(`http://127.0.0.1${request.url ?? "/"}`, {
    method: request.method ?? "GET",
    headers,
    signal: ended.signal,
    ...(hasBody && { body: Readable.toWeb(request) as globalThis.ReadableStream, duplex: "half" }),
  } as RequestInit);
}

async function send(response: ServerResponse, answered: Response): Promise<void> {
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  if (answered.body === null) return void response.end();
  const body = Readable.fromWeb(answered.body as ReadableStream);
  response.once("close", () => body.destroy());
  for await (const chunk of body) if (!response.write(chunk)) await drained(response);
  response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
}
