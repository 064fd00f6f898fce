import type { McpToolDefinition } from "./mcp-protocol.ts";

/** A tool that an MCP server of Writ shows to its clients. */
export interface ServedTool {
  /** As clients see it, with the name that they call. */
  readonly definition: McpToolDefinition;
  /** The name of the tool in Writ. */
  readonly tool: string;
  /** Its recorded output is the result of an MCP server. */
  readonly isMcp: boolean;
}

/** The tools that an MCP server of Writ shows. */
export interface ServedTools {
  list(): Promise<readonly ServedTool[]>;
  /** True for a tool of Writ that only reads. */
  isRead(tool: string): boolean;
  /** Calls the listener after the list has changed. Returns a function that ends this. */
  onChange(listener: () => void): () => void;
}
