import { grouped } from "./grouped.ts";
import type { History } from "./history.ts";

/** An event that says of an act that it may or may not have happened. */
export interface Doubt {
  readonly run: string;
  readonly hash: string;
  readonly body: string;
}

/** How many of the doubts could have been known. */
export function needlessIn(doubts: readonly Doubt[], { calls, outages }: History): number {
  const ofRuns = grouped(calls, ({ asked }) => runOf(asked) ?? "");
  return doubts.filter((doubt) => !isNeeded(doubt, { calls: ofRuns.get(doubt.run) ?? [], outages })).length;
}

/**
 * In doubt is only what nobody can know: the tool may have been called, since its marker may have been written; or the server
 * fell, and a marker that is not there proves nothing. Told by the calls that are about its run.
 */
function isNeeded({ hash, body }: Doubt, { calls, outages }: History): boolean {
  const { step_id, attempt } = JSON.parse(body) as { readonly step_id: string; readonly attempt: number };
  // Also where it was refused: it was asked for again, perhaps, because the answer to the first time was lost.
  if (calls.some(({ asked }) => asked.do === "mark" && asked.step === step_id && asked.attempt === attempt))
    return true;
  const begun = calls[0]?.from ?? 0;
  const doubted = calls.find(({ asked }) => asked.do === "append" && asked.hashes.includes(hash))?.to ?? 0;
  return outages.some(({ from, to }) => from < doubted && to > begun);
}

function runOf(asked: History["calls"][number]["asked"]): string | null {
  if (asked.do === "mark") return asked.right[0];
  return asked.do === "append" ? asked.run : null;
}
