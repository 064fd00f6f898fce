import type { StoredJournals } from "./check-history.ts";
import { isAlreadyWritten, isFencedCall, isLandedCall, isUnknownCall } from "./sent-entry.ts";
import { type AppendCall, appendCalls, claimCalls, grantedEpochs, type StoreHistory } from "./store-history.ts";

/** Counts of events in the history. */
export interface HistoryCounts {
  /** Runs that another worker claimed without a release by the previous one. */
  readonly takeovers: number;
  /** Writes refused because the epoch had moved. */
  readonly fenced: number;
  /** Appends whose answer was lost. */
  readonly unknown_commits: number;
  readonly unknown_landed: number;
  readonly unknown_not_landed: number;
}

export function countHistory(history: StoreHistory, journals: StoredJournals): HistoryCounts {
  const appends = appendCalls(history);
  const unknown = appends.filter(isUnknownCall);
  const settled = new Map(
    appends
      .filter((call) => isLandedCall(call) || isAlreadyWritten(call))
      .map((call) => [appendName(call), call] as const),
  );
  // A repetition of the same bytes shows whether the first append landed; without one, the journal does.
  const hasLanded = (call: AppendCall): boolean => {
    const { run, position, hashes } = call.request;
    const again = settled.get(appendName(call));
    return again === undefined ? journals.get(run)?.[position] === hashes[0] : isAlreadyWritten(again);
  };
  const landed = unknown.filter(hasLanded).length;
  return {
    takeovers: countTakeovers(history),
    fenced: appends.filter(isFencedCall).length + countRefusedMarks(history),
    unknown_commits: unknown.length,
    unknown_landed: landed,
    unknown_not_landed: unknown.length - landed,
  };
}

function appendName({ request: { run, position, hashes } }: AppendCall): string {
  return `${run} ${position} ${hashes[0]}`;
}

function countRefusedMarks({ calls }: StoreHistory): number {
  return calls.filter(({ reply }) => reply !== null && "marked" in reply && !reply.marked).length;
}

function countTakeovers(history: StoreHistory): number {
  const released = new Set(
    history.calls.flatMap(({ request }) => (request.do === "release" ? [request.claim.join(" ")] : [])),
  );
  const holders = new Map<string, { readonly by: string; readonly epoch: number }>();
  let count = 0;
  for (const claim of claimCalls(history)) {
    for (const [run, epoch] of grantedEpochs(claim)) {
      const last = holders.get(run);
      if (last !== undefined && last.by !== claim.by && !released.has(`${run} ${last.epoch}`)) count += 1;
      holders.set(run, { by: claim.by, epoch });
    }
  }
  return count;
}
