import type { RunChange } from "../../src/engine/api/list-api.ts";
import { onListChange } from "./live-stream.ts";

const betweenMs = 150;

/**
 * Reads at once at the first change, and then once for all changes of a short time. A change of null says that the
 * connection was lost meanwhile. Returns a function that ends it.
 */
export function followChanges(concerns: (change: RunChange | null) => boolean, read: () => Promise<void>): () => void {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isDue = false;
  const end = () => {
    timer = null;
    if (!isDue) return;
    isDue = false;
    start();
  };
  const start = () => {
    timer = setTimeout(end, betweenMs);
    void read();
  };
  const stop = onListChange((change) => {
    if (!concerns(change)) return;
    if (timer === null) start();
    else isDue = true;
  });
  return () => {
    stop();
    if (timer !== null) clearTimeout(timer);
  };
}
