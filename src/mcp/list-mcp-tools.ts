import { FaultError, fault } from "../core/values/fault.ts";
import { type McpClient, type McpToolDefinition, mcpLimits } from "./mcp-protocol.ts";

/** Returns the tools of a server, page by page. A server that breaks a limit is refused as a whole. */
export async function listMcpTools(client: McpClient, server: string): Promise<readonly McpToolDefinition[]> {
  const tools: McpToolDefinition[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mcpLimits.pages; page += 1) {
    const { tools: more, nextCursor } = await client.listTools(cursor === undefined ? undefined : { cursor }, {
      timeout: mcpLimits.requestMs,
    });
    tools.push(...more);
    assertWithinLimits(server, tools, more);
    if (nextCursor === undefined) return tools;
    cursor = nextCursor;
  }
  throw unusable(server, `its list of tools has more than ${mcpLimits.pages} pages`);
}

function assertWithinLimits(
  server: string,
  all: readonly McpToolDefinition[],
  added: readonly McpToolDefinition[],
): void {
  if (all.length > mcpLimits.tools) throw unusable(server, `it has more than ${mcpLimits.tools} tools`);
  if (new Set(all.map(({ name }) => name)).size < all.length)
    throw unusable(server, "two of its tools have the same name");
  const large = added.find((tool) => JSON.stringify(tool).length > mcpLimits.definition);
  if (large !== undefined) throw unusable(server, `the definition of ${large.name} is too large`);
}

function unusable(server: string, why: string): FaultError {
  return new FaultError(fault("TOOL_INVALID", `the tools of MCP server ${server} are not used: ${why}`));
}
