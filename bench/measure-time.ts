import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

type CollectGarbage = (options?: { readonly type: "minor" }) => void;

let collector: CollectGarbage | null = null;

function garbageCollector(): CollectGarbage {
  setFlagsFromString("--expose-gc");
  collector ??= runInNewContext("gc") as CollectGarbage;
  return collector;
}

/** Collects all garbage, which also drops much of the compiled code. */
export function collectGarbage(): void {
  garbageCollector()();
}

/** Measures the work in milliseconds, after a collection of young garbage of earlier work. */
export async function measureTime(work: () => Promise<void> | void): Promise<number> {
  collectYoungGarbage();
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Collects young garbage only, so that compiled code is retained. */
export function collectYoungGarbage(): void {
  garbageCollector()({ type: "minor" });
}
