import { type HeapProfiler, Session } from "node:inspector/promises";
import { promiseHooks } from "node:v8";

/** The work of the JavaScript runtime for one step. It is the same on every machine, and a loaded one does not change it. */
export interface WorkCost {
  /** Allocated, in KB of 1024 bytes. */
  readonly kilobytes: number;
  readonly promises: number;
}

/** The distance of samples in bytes. The sum of the samples estimates the allocated bytes to about one percent. */
const SAMPLING_INTERVAL = 4096;

/** Does the work twice and counts, per step, the promises of the first time and the allocated bytes of the second. */
export async function measureWork(steps: number, work: () => Promise<void>): Promise<WorkCost> {
  let promises = 0;
  const stop = promiseHooks.onInit(() => {
    promises += 1;
  });
  await work();
  stop();
  return { kilobytes: (await allocatedBytes(work)) / 1024 / steps, promises: promises / steps };
}

async function allocatedBytes(work: () => Promise<void>): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.startSampling", {
    samplingInterval: SAMPLING_INTERVAL,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  await work();
  const { profile } = await session.post("HeapProfiler.stopSampling");
  session.disconnect();
  return sumOf(profile.head);
}

function sumOf({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((sum, child) => sum + sumOf(child), selfSize);
}
