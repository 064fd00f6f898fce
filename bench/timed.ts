import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

type Collector = (options?: { readonly type: "minor" }) => void;

let collector: Collector | null = null;

function collect(): Collector {
  setFlagsFromString("--expose-gc");
  collector ??= runInNewContext("gc") as Collector;
  return collector;
}

/** Clears away everything that is no longer used, and with it much of what the compiler has learned about it. */
export function collectGarbage(): void {
  collect()();
}

/** How many milliseconds a piece of work takes. What others have just left behind is not its to clear away. */
export async function timed(work: () => Promise<void> | void): Promise<number> {
  collectLeftovers();
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Only what is young: a program that has worked for a while has not forgotten how. */
export function collectLeftovers(): void {
  collect()({ type: "minor" });
}
