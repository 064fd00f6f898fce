import { timerPut } from "../evolve/event-rows.ts";
import { defaultQueue } from "../store/select-fairly.ts";
import type { Put } from "../store/store.ts";
import type { HeldIn } from "../values/held-in.ts";
import type { Instant, RunId } from "../values/ids.ts";
import type { SessionToForget } from "./session-to-forget.ts";

/**
 * An event in the retention journal of a tenant. `started` is on disk before anything is erased, so that a retention that
 * a crash cuts off is recorded, too.
 */
export type RetentionEvent = { readonly at: Instant; readonly by: string } & HeldIn &
  (
    | {
        readonly type: "retention.started";
        readonly reason: string;
        readonly ended_before: Instant;
        /** Present: the runs of this session are closed and erased, and no others. */
        readonly session?: SessionToForget;
        /** When a worker continues it if it has not ended. Absent in journals of older versions. */
        readonly continue_at?: Instant;
      }
    /** Everything is erased, and a process still reads the log of the store, which holds what was erased. */
    | ({ readonly type: "retention.erased"; readonly started: number } & RetentionCounts)
    /** `started`: the position of the event that started it. */
    | ({ readonly type: "retention.ended"; readonly started: number } & RetentionCounts)
  );

/** The numbers of what a retention erased. */
export interface RetentionCounts {
  readonly runs: number;
  readonly events: number;
  /** Runs that were skipped: notices of their tools are undelivered or, in a forgotten session, acts have not ended. */
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
  readonly session?: SessionToForget;
  /** Null: it is under way, a crash cut it off, or a process still reads the log, which holds what was erased. */
  readonly erased: RetentionCounts | null;
}

/** Folds the events of the journal into retentions, oldest first. */
export function foldRetentions(journal: readonly RetentionEvent[]): readonly RetentionRecord[] {
  const records = new Map<number, RetentionRecord>();
  for (const [index, event] of journal.entries()) {
    if (event.type === "retention.started") {
      const { at, by, reason, ended_before } = event;
      records.set(index + 1, { at, by, reason, ended_before, ...sessionField(event), erased: null });
      continue;
    }
    const record = records.get(event.started);
    if (record !== undefined && event.type === "retention.ended")
      records.set(event.started, { ...record, erased: retentionCounts(event) });
  }
  return [...records.values()];
}

function sessionField({ session }: { readonly session?: SessionToForget }) {
  return session === undefined ? {} : { session };
}

export function retentionCounts({ runs, events, waiting, snapshots }: RetentionCounts): RetentionCounts {
  return { runs, events, waiting, snapshots };
}

/** A retention that has not ended, by the position of its start. */
export interface PendingRetention {
  readonly started: number;
  readonly by: string;
  readonly ended_before: Instant;
  readonly session?: SessionToForget;
  readonly continue_at: Instant;
  /** The numbers of the erasure. Null: not everything is erased yet. */
  readonly counts: RetentionCounts | null;
}

/** Returns the retentions that a worker continues, oldest first. */
export function pendingRetentions(journal: readonly RetentionEvent[]): readonly PendingRetention[] {
  const pending = new Map<number, PendingRetention>();
  for (const [index, event] of journal.entries()) {
    if (event.type === "retention.started") {
      const { by, ended_before, continue_at } = event;
      if (continue_at === undefined) continue;
      const terms = { by, ended_before, ...sessionField(event), continue_at };
      pending.set(index + 1, { started: index + 1, ...terms, counts: null });
      continue;
    }
    const { started } = event;
    const known = pending.get(started);
    if (event.type === "retention.ended") pending.delete(started);
    else if (known !== undefined) pending.set(started, { ...known, counts: retentionCounts(event) });
  }
  return [...pending.values()];
}

/** Returns the timer of the retentions that have not ended. */
export function retentionPut(journal: RunId, events: readonly RetentionEvent[]): Put {
  const due = pendingRetentions(events).map(({ continue_at }) => continue_at);
  return timerPut(journal, due.length === 0 ? null : (Math.min(...due) as Instant), {
    queue: defaultQueue,
    priority: 0,
  });
}
