import { AsyncLocalStorage } from "node:async_hooks";
import type { McpProgress } from "./mcp-protocol.ts";

/** The client that asked for a call. */
export interface CallingClient {
  /** Receives the progress of the call. Null: the client wants none. */
  readonly receive: ((progress: McpProgress) => void) | null;
  /** Called when the call is on record, before its server is asked. */
  readonly onBegin: () => void;
}

/** A handler runs in the context of its proposal. */
const clients = new AsyncLocalStorage<CallingClient>();

/** Runs `work`; its calls belong to this client. */
export function forClient<Result>(client: CallingClient, work: () => Result): Result {
  return clients.run(client, work);
}

/** Returns the client of the call that runs now, or null. */
export function callingClient(): CallingClient | null {
  return clients.getStore() ?? null;
}
