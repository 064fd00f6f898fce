import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { readGatewayConfig, type ServerConfig } from "../../mcp/gateway-config.ts";
import { serveGatewayHttp } from "../../mcp/gateway-http.ts";
import { loadServerStdio } from "../../mcp/load-sdk.ts";
import { type McpGateway, mcpGateway } from "../../mcp/mcp-gateway.ts";
import { mcpPinSlice } from "../../mcp/tool-pins.ts";
import type { ExitCode } from "../exit-code.ts";
import { listeningPort } from "../health-server.ts";
import {
  type GlobalOptions,
  helpExample,
  type Invocation,
  invalidInput,
  parsePort,
  parseWholeNumber,
} from "../invocation.ts";
import { readServersFile } from "../json-file.ts";
import { line } from "../safe-line.ts";
import { type OpenedEngine, withEngine } from "../with-engine.ts";

interface McpOptions extends GlobalOptions {
  readonly reads?: readonly string[];
  readonly name?: string;
  readonly session?: string;
  readonly holdMs?: number;
  readonly port?: number;
}

export function mcpCommand(invocation: Invocation): Command {
  const command = new Command("mcp")
    .description("serve the tools of MCP servers over stdio; every call is judged, made once and on record")
    .argument("[command...]", "the command of one server, after --; else --config names a JSON file with servers")
    .option("--reads <tools>", "tools of the one server that only read, separated by commas", splitNames)
    .option("--name <name>", "name of the one server (default: from its command)")
    .option("--session <name>", "name of the session (default: mcp, and the name of the one server)")
    .option("--hold-ms <ms>", "how long a request waits for a person (default: 45000)", parseWholeNumber)
    .option("--port <port>", "serve over HTTP on 127.0.0.1, at /mcp, instead of stdio; 0 takes a free one", parsePort)
    .addHelpText(
      "after",
      helpExample(
        "writ mcp -- npx -y @modelcontextprotocol/server-filesystem /data",
        "writ mcp --reads read_text_file,list_directory -- npx -y @modelcontextprotocol/server-filesystem /data",
        "writ mcp --store ~/.writ/writ.db --config servers.json",
      ),
    );
  return invocation.withAction<McpOptions>(command, async (_, options) => {
    const words = command.args;
    const { servers, engineOptions } = await readServers(invocation, words, options);
    const opening = { work: "yes", needs: "store", createsStore: true, isLocal: true, slices: [mcpPinSlice] } as const;
    return withEngine(invocation, engineOptions, opening, (opened) => serve(invocation, opened, servers, options));
  });
}

function splitNames(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.every((name) => name !== "")) return names;
  throw new InvalidArgumentError("It must be names separated by commas.");
}

type Servers = Readonly<Record<string, ServerConfig>>;

/** The servers of the command line: one command, or a JSON file. A config that is no JSON file is that of the engine. */
async function readServers(
  { host }: Invocation,
  command: readonly string[],
  options: McpOptions,
): Promise<{ readonly servers: Servers; readonly engineOptions: GlobalOptions }> {
  const { config, ...others } = options;
  const isServerFile = config?.endsWith(".json") ?? false;
  if (isServerFile === command.length > 0)
    throw invalidInput(
      "give the command of one server after --, or --config with a JSON file of servers, and not both",
    );
  if (config !== undefined && isServerFile) {
    if (options.reads !== undefined || options.name !== undefined)
      throw invalidInput("--reads and --name are for one server; a JSON file declares the tools of each server");
    const path = resolve(host.cwd, config);
    return { servers: readGatewayConfig(await readServersFile(path), path), engineOptions: others };
  }
  const [program = "", ...args] = command;
  const tools = Object.fromEntries((options.reads ?? []).map((tool) => [tool, { effect: "reads" as const }]));
  const name = options.name ?? serverName(command);
  // The command had the environment of its client before the gateway was put in front of it.
  return { servers: { [name]: { command: program, args, env: "inherit", tools } }, engineOptions: options };
}

/** Returns the name of a server from its command: the package or file that it starts. */
function serverName(command: readonly string[]): string {
  const launchers = /^(npx|bunx|uvx|pnpx|node|bun|deno|python3?|uv|run|dlx|exec)$/;
  const words = command.filter((word) => !word.startsWith("-"));
  const first = words.find((word) => !launchers.test(word.split(/[/\\]/).at(-1) ?? "")) ?? "server";
  const generic = /^(index|main|cli|server|dist|build|bin|src)(\.\w+)?$/;
  const parts = first.split(/[/\\]/).filter((part) => part !== "");
  const base = parts.findLast((part) => !generic.test(part)) ?? parts.at(-1) ?? "";
  const plain = base.replace(/@.*$/, "").replace(/\.(m?js|ts|py)$/, "");
  return (
    plain
      .replaceAll(/[^A-Za-z0-9_-]/g, "-")
      .replace(/^[-_]+/, "")
      .slice(0, 32) || "server"
  );
}

async function serve(
  invocation: Invocation,
  { engine, proposer }: OpenedEngine,
  servers: Servers,
  options: McpOptions,
): Promise<ExitCode> {
  const { host, terminal } = invocation;
  const names = Object.keys(servers);
  const gateway = await mcpGateway({
    engine,
    servers,
    principal: { ...proposer, id: options.session ?? "mcp", kind: "agent" },
    session: options.session ?? (names.length === 1 ? `mcp-${names[0]}` : "mcp"),
    ...(options.holdMs !== undefined && { holdMs: options.holdMs }),
    environment: host.env,
    onNote: (text) => terminal.note(line`${text}`),
  });
  const close =
    options.port === undefined
      ? await serveStdio(invocation, gateway)
      : await serveHttp(invocation, gateway, options.port);
  await close();
  await gateway.close();
  return 0;
}

/** Serves the client at the other end of stdin and stdout until it ends the connection. Returns how to close. */
async function serveStdio({ host, terminal }: Invocation, gateway: McpGateway): Promise<() => Promise<void>> {
  const sdk = await loadServerStdio();
  const transport = new sdk.StdioServerTransport(host.stdin, host.stdout);
  const ended = new Promise<void>((resolveEnded) => {
    host.stdin.once("end", resolveEnded).once("close", resolveEnded);
    host.onInterrupt(resolveEnded);
  });
  const onerror = (error: Error) => terminal.note(line`${error.message}`);
  const handle = sdk.serveStdio(gateway.server, { transport, onerror });
  await ended;
  return () => handle.close();
}

/** Serves clients over HTTP until the process is interrupted. */
async function serveHttp(
  { host, terminal }: Invocation,
  gateway: McpGateway,
  port: number,
): Promise<() => Promise<void>> {
  const token = host.env.WRIT_MCP_TOKEN;
  if (token === undefined || token.length < 16)
    throw invalidInput(
      "set WRIT_MCP_TOKEN to a secret of at least 16 characters; clients send it as their bearer token",
    );
  const server = await serveGatewayHttp(gateway, { port, token });
  const interrupted = new Promise<void>((interrupt) => void host.onInterrupt(interrupt));
  terminal.note(line`MCP at http://127.0.0.1:${String(listeningPort(server))}/mcp; stop with Ctrl-C or SIGTERM`);
  await interrupted;
  return async () => {
    server.close();
    server.closeAllConnections();
  };
}
