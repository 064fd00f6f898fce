import { AsyncLocalStorage } from "node:async_hooks";
import type { McpProgress } from "./mcp-protocol.ts";

/** The receiver of progress in the client that asked for a call. A handler runs in the context of its proposal. */
const receivers = new AsyncLocalStorage<(progress: McpProgress) => void>();

/** Does work whose calls report their progress to this client. */
export function withClientProgress<Result>(
  receive: ((progress: McpProgress) => void) | null,
  work: () => Result,
): Result {
  return receive === null ? work() : receivers.run(receive, work);
}

/** Returns the receiver of progress for the call that runs now, or null. */
export function clientProgress(): ((progress: McpProgress) => void) | null {
  return receivers.getStore() ?? null;
}
