import { groupBy } from "./group-by.ts";
import type { StoreHistory } from "./store-history.ts";

/** An event that records an act as in doubt. */
export interface DoubtEvent {
  readonly run: string;
  readonly hash: string;
  readonly body: string;
}

/** Counts the doubts about acts that were provably not called. */
export function countNeedlessDoubts(doubts: readonly DoubtEvent[], { calls, outages }: StoreHistory): number {
  const callsByRun = groupBy(calls, ({ request }) => requestedRun(request) ?? "");
  return doubts.filter((doubt) => !isDoubtNeeded(doubt, { calls: callsByRun.get(doubt.run) ?? [], outages })).length;
}

/**
 * A doubt is needed if the tool may have been called, since its marker may have been written, or if the server failed,
 * since a missing marker proves nothing then. Decided from the calls about the run of the act.
 */
function isDoubtNeeded({ hash, body }: DoubtEvent, { calls, outages }: Omit<StoreHistory, "workerOutages">): boolean {
  const { step_id, attempt } = JSON.parse(body) as { readonly step_id: string; readonly attempt: number };
  // A refused marker counts too: it may be a repetition after a lost answer.
  if (calls.some(({ request }) => request.do === "mark" && request.step === step_id && request.attempt === attempt))
    return true;
  const firstCall = calls[0]?.from ?? 0;
  const doubtedAt = calls.find(({ request }) => request.do === "append" && request.hashes.includes(hash))?.to ?? 0;
  return outages.some(({ from, to }) => from < doubtedAt && to > firstCall);
}

function requestedRun(request: StoreHistory["calls"][number]["request"]): string | null {
  if (request.do === "mark") return request.claim[0];
  return request.do === "append" ? request.run : null;
}
