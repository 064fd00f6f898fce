import type { SentCall } from "../../core/run/step.ts";
import type { Store } from "../../core/store/store.ts";
import type { WorkerId } from "../../core/values/ids.ts";

/**
 * Returns a worker whose process may still run a handler of these calls, or null. A worker is listed by the store until
 * its process has ended, as far as the store can tell. `runsHere` tells it about the calls of this worker itself.
 */
export async function findExecutingWorker(
  store: Pick<Store, "workers">,
  sent: readonly SentCall[],
  own: WorkerId,
  runsHere: (call: SentCall) => boolean,
): Promise<WorkerId | null> {
  const here = sent.find((call) => call.worker === own && runsHere(call));
  if (here !== undefined) return own;
  const others = sent.filter(({ worker }) => worker !== own);
  if (others.length === 0) return null;
  const listed = new Set((await store.workers()).map(({ worker }) => worker));
  return others.find(({ worker }) => listed.has(worker))?.worker ?? null;
}
