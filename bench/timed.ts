import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

let collector: (() => void) | null = null;

/** What others left behind is cleared away before a clock starts. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  collector ??= runInNewContext("gc") as () => void;
  collector();
}

/** How many milliseconds a piece of work takes. */
export async function timed(work: () => Promise<void> | void): Promise<number> {
  collectGarbage();
  const start = performance.now();
  await work();
  return performance.now() - start;
}
