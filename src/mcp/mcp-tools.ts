import type { Tool } from "../core/tool/tool.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import { defineMcpTool, type McpToolSettings } from "./define-mcp-tool.ts";
import { listMcpTools } from "./list-mcp-tools.ts";
import type { McpClient } from "./mcp-protocol.ts";
import { mcpToolNames } from "./mcp-tool-names.ts";

export interface McpToolsOptions {
  /** The name of the server. The tools are named `server.tool`. */
  readonly server: string;
  /** The declarations of its tools, by the names that the server gives them. A tool that is absent acts. */
  readonly tools?: Readonly<Record<string, McpToolSettings>>;
}

/**
 * Returns the tools of an MCP server as tools of Writ, for `createEngine({ tools })` or `engine.tools.put`. The caller
 * connects the client, and closes it.
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions): Promise<readonly Tool[]> {
  const { server, tools: settings = {} } = options;
  assertServerName(server);
  const definitions = await listMcpTools(client, server);
  assertKnownTools(server, Object.keys(settings), new Set(definitions.map(({ name }) => name)));
  const names = mcpToolNames(
    server,
    definitions.map(({ name }) => name),
  );
  const source = { server, client: async () => client, redact: <Value>(result: Value) => result, notDone: null };
  return definitions.map((definition) =>
    defineMcpTool(names.get(definition.name) as string, definition, settings[definition.name] ?? {}, source),
  );
}

export function assertServerName(server: unknown): void {
  if (typeof server === "string" && /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/.test(server)) return;
  const rule = "1 to 32 letters, digits, dashes and underscores";
  throw new FaultError(fault("CONFIG_INVALID", `the name of an MCP server must be ${rule}, not ${String(server)}`));
}

/** A misspelt name would leave its tool undeclared, so it is refused. */
function assertKnownTools(server: string, declared: readonly string[], known: ReadonlySet<string>): void {
  const unknown = declared.filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  const message = `MCP server ${server} has no tool ${unknown.join(", ")}; it has ${[...known].sort().join(", ")}`;
  throw new FaultError(fault("CONFIG_INVALID", message));
}
