import type { Journals } from "./checker.ts";
import { type Appending, appendsIn, claimsIn, givenBy, type History } from "./history.ts";
import { isFenced, isLanded, isMine, isUnknown } from "./sending.ts";

/** What the history shows to have happened. */
export interface Sums {
  /** Runs that went to another worker though the last one had not given them back. */
  readonly takeovers: number;
  /** Writes that were refused because the epoch had moved. */
  readonly fenced: number;
  /** Appends whose answer was lost. */
  readonly unknown_commits: number;
  readonly unknown_landed: number;
  readonly unknown_not_landed: number;
}

export function sumsOf(history: History, journals: Journals): Sums {
  const appends = appendsIn(history);
  const unknown = appends.filter(isUnknown);
  const settled = new Map(
    appends.filter((call) => isLanded(call) || isMine(call)).map((call) => [nameOf(call), call] as const),
  );
  // The same bytes sent again have found themselves there, or have not; if nobody sent them, the journal says it.
  const hasLanded = (call: Appending): boolean => {
    const { run, position, hashes } = call.asked;
    const again = settled.get(nameOf(call));
    return again === undefined ? journals.get(run)?.[position] === hashes[0] : isMine(again);
  };
  const landed = unknown.filter(hasLanded).length;
  return {
    takeovers: takeoversIn(history),
    fenced: appends.filter(isFenced).length + refusedMarks(history),
    unknown_commits: unknown.length,
    unknown_landed: landed,
    unknown_not_landed: unknown.length - landed,
  };
}

function nameOf({ asked: { run, position, hashes } }: Appending): string {
  return `${run} ${position} ${hashes[0]}`;
}

function refusedMarks({ calls }: History): number {
  return calls.filter(({ heard }) => heard !== null && "marked" in heard && !heard.marked).length;
}

function takeoversIn(history: History): number {
  const released = new Set(
    history.calls.flatMap(({ asked }) => (asked.do === "release" ? [asked.right.join(" ")] : [])),
  );
  const holders = new Map<string, { readonly by: string; readonly epoch: number }>();
  let count = 0;
  for (const claim of claimsIn(history)) {
    for (const [run, epoch] of givenBy(claim)) {
      const last = holders.get(run);
      if (last !== undefined && last.by !== claim.by && !released.has(`${run} ${last.epoch}`)) count += 1;
      holders.set(run, { by: claim.by, epoch });
    }
  }
  return count;
}
