import type { Clock } from "../../core/ports/clock.ts";
import type { Store } from "../../core/store/store.ts";
import { memoryStore } from "./memory-store.ts";

export interface MemoryOptions {
  readonly clock?: Clock;
  /** How long a lease lasts without being renewed, in milliseconds. */
  readonly leaseMs?: number;
}

/**
 * Makes an empty store in memory, for tests. Its data ends with the process. Closing an engine does not close the store,
 * so a second engine on it finds everything that the first one recorded.
 */
export function memory({ clock, leaseMs }: MemoryOptions = {}): Store {
  const { dump: _dump, ...store } = memoryStore({
    ...(clock !== undefined && { clock }),
    ...(leaseMs !== undefined && { leaseMs }),
  });
  return store;
}
