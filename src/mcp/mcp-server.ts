import type { Server as HttpServer } from "node:http";
import type { Readable, Writable } from "node:stream";
import type { Server } from "@modelcontextprotocol/server";
import { FaultError, fault } from "../core/values/fault.ts";
import type { Instant } from "../core/values/ids.ts";
import type { Engine, PrincipalInput } from "../engine/api/engine-api.ts";
import { assertKnownFields } from "../engine/api/verb-options.ts";
import { ClientSessions } from "./client-sessions.ts";
import { type GatewayHttpOptions, serveGatewayHttp } from "./gateway-http.ts";
import { loadServerStdio } from "./load-sdk.ts";
import { mcpServerFactory } from "./mcp-server-factory.ts";
import { RegisteredTools } from "./registered-tools.ts";

export interface McpServerOptions {
  /** The agent that the calls are made for. */
  readonly principal: PrincipalInput;
  /** The names of the tools that clients see. Default: all tools of the engine that the principal may call. */
  readonly tools?: readonly string[];
  /** The project of the calls. Default: that of no project. */
  readonly project?: string;
  /** The name of the session. Default: mcp. A second server with the same name gets the next free number. */
  readonly session?: string;
  /** How long a request waits for a person before it is answered as held. Default: 45 s; clients give up after 60. */
  readonly holdMs?: number;
  /** Receives notes for the person who runs the server. Default: they are dropped. */
  readonly onNote?: (text: string) => void;
}

/** The streams of a client that has started this process. */
export interface StdioStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** An MCP server in front of an engine: every call of its clients is judged, made once and on record. */
export interface McpServer {
  /** Makes the server of one connection, for `serveStdio` or `createMcpHandler` of the MCP SDK. */
  readonly server: () => Server;
  /** Serves the client at the other end of the streams until it ends the connection. Default: stdin and stdout. */
  stdio(streams?: StdioStreams): Promise<void>;
  /** Serves clients over HTTP on the loopback address. Returns the address. Every request needs the token. */
  http(options: GatewayHttpOptions): Promise<URL>;
  /** Ends the server over HTTP, and gives the sessions to other processes. The engine stays open. */
  close(): Promise<void>;
}

const optionNames = ["principal", "tools", "project", "session", "holdMs", "onNote"];
const TOKEN_LENGTH = 16;

/** Makes an MCP server that serves the tools of an engine. */
export async function mcpServer(engine: Engine, options: McpServerOptions): Promise<McpServer> {
  assertKnownFields("the options of mcpServer", options, optionNames);
  const { principal, project, session = "mcp", holdMs = 45_000, onNote = () => {} } = options;
  const tools = new RegisteredTools({ engine, principal, names: options.tools ?? null });
  await assertTools(engine, options);
  const onError = (error: unknown) => onNote(error instanceof Error ? error.message : String(error));
  const isRead = (tool: string) => tools.isRead(tool);
  const sessions = new ClientSessions(engine, {
    principal,
    session,
    isRead,
    ...(project !== undefined && { project }),
  });
  const server = await mcpServerFactory({
    tools,
    session: (client) => sessions.open(client),
    holdMs,
    onError,
    now: () => Date.now() as Instant,
  });
  const listening: HttpServer[] = [];
  return {
    server,
    stdio: (streams = { input: process.stdin, output: process.stdout }) => serveStdio(server, streams, onError),
    http: async (given) => {
      if (given.token.length < TOKEN_LENGTH)
        throw new FaultError(fault("INVALID_INPUT", `the token must have at least ${TOKEN_LENGTH} characters`));
      const http = await serveGatewayHttp({ server }, given);
      listening.push(http);
      const { port } = http.address() as { readonly port: number };
      return new URL(`http://127.0.0.1:${port}/mcp`);
    },
    close: async () => {
      for (const http of listening) {
        http.close();
        http.closeAllConnections();
      }
      await sessions.release(onError);
    },
  };
}

async function assertTools(engine: Engine, { principal, tools = [] }: McpServerOptions): Promise<void> {
  const known = new Set((await engine.tools.list({ principal })).map(({ name }) => name));
  const unknown = tools.filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  const message = `the engine has no tool ${unknown.join(", ")} that the principal may call`;
  throw new FaultError(fault("TOOL_UNKNOWN", message));
}

async function serveStdio(
  server: () => Server,
  { input, output }: StdioStreams,
  onError: (error: unknown) => void,
): Promise<void> {
  const sdk = await loadServerStdio();
  const transport = new sdk.StdioServerTransport(input, output);
  const ended = new Promise<void>((end) => void input.once("end", end).once("close", end));
  const handle = sdk.serveStdio(server, { transport, onerror: onError });
  await ended;
  await handle.close();
}
