import type { Instant } from "../values/ids.ts";
import type { Requested } from "../values/requested.ts";

/**
 * An event in the retention journal of a tenant. `started` is on disk before anything is erased, so that a retention that
 * a crash cuts off is recorded, too.
 */
export type RetentionEvent = { readonly at: Instant; readonly by: string } & Requested &
  (
    | { readonly type: "retention.started"; readonly reason: string; readonly ended_before: Instant }
    /** `started`: the position of the event that started it. */
    | ({ readonly type: "retention.ended"; readonly started: number } & RetentionCounts)
  );

/** The numbers of what a retention erased. */
export interface RetentionCounts {
  readonly runs: number;
  readonly events: number;
  /** Runs that were skipped because they have undelivered notices of their tools. */
  readonly waiting: number;
  /** Snapshots of state that newer snapshots have replaced. */
  readonly snapshots: number;
}

/** One retention: who erased, when, why and what. */
export interface RetentionRecord {
  readonly at: Instant;
  readonly by: string;
  readonly reason: string;
  readonly ended_before: Instant;
  /** Null: it is under way, a crash cut it off, or a process still reads the log, which holds what was erased. */
  readonly erased: RetentionCounts | null;
}

/** Folds the events of the journal into retentions, oldest first. */
export function foldRetentions(journal: readonly RetentionEvent[]): readonly RetentionRecord[] {
  const records = new Map<number, RetentionRecord>();
  for (const [index, event] of journal.entries()) {
    if (event.type === "retention.started") {
      const { at, by, reason, ended_before } = event;
      records.set(index + 1, { at, by, reason, ended_before, erased: null });
      continue;
    }
    const { started, runs, events, waiting, snapshots } = event;
    const record = records.get(started);
    if (record !== undefined) records.set(started, { ...record, erased: { runs, events, waiting, snapshots } });
  }
  return [...records.values()];
}
