import type { JsonObject } from "../core/values/json.ts";

// The shapes of the Model Context Protocol that Writ uses. They are structural, so that every version of its SDK fits.

/** A tool as an MCP server describes it. The annotations are hints of the server, and prove nothing. */
export interface McpToolDefinition {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: object;
  readonly outputSchema?: object | undefined;
  readonly annotations?: object | undefined;
}

/** The result of a call, as an MCP server answers it. */
export interface McpToolResult {
  readonly content?: readonly unknown[] | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

export interface McpRequestOptions {
  readonly signal?: AbortSignal;
  readonly timeout?: number;
  readonly resetTimeoutOnProgress?: boolean;
  readonly onprogress?: (progress: McpProgress) => void;
}

export interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** The client of an MCP server, as `@modelcontextprotocol/client` makes it. */
export interface McpClient {
  listTools(
    params?: { readonly cursor?: string },
    options?: McpRequestOptions,
  ): Promise<{ readonly tools: readonly McpToolDefinition[]; readonly nextCursor?: string | undefined }>;
  callTool(
    params: { readonly name: string; readonly arguments?: JsonObject; readonly _meta?: JsonObject },
    options?: McpRequestOptions,
  ): Promise<McpToolResult>;
}

/** The field of `_meta` that carries the trace context of a request. */
export const TRACE_META = "traceparent";

/** The limits on what a server may send. */
export const mcpLimits = {
  /** Tools of one server. */
  tools: 1000,
  /** Characters of one tool definition, as JSON. */
  definition: 1_000_000,
  /** Pages of one list of tools. */
  pages: 100,
  /** Characters of an error that are recorded. */
  errorText: 4000,
  /** Milliseconds of one request to a server, unless its tool sets another timeout. */
  requestMs: 60_000,
  /** Connections of clients over HTTP. */
  connections: 1000,
} as const;
