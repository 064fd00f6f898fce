import type { Instant } from "../core/values/ids.ts";
import type { McpSession } from "./mcp-session.ts";
import type { ServedTools } from "./served-tools.ts";

/** The tools, sessions and limits that the servers of all connections share. */
export interface ServeMcpOptions {
  readonly tools: ServedTools;
  /** Opens the session of a client, at its first call. */
  session(client: string): Promise<McpSession>;
  /** How long a request waits for a person before it is answered as held. */
  readonly holdMs: number;
  readonly onError: (error: unknown) => void;
  readonly now: () => Instant;
}

/** The server side of the MCP SDK. */
export type ServerSdk = typeof import("@modelcontextprotocol/server");
