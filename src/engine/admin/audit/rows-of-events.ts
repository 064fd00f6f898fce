import type { Event } from "../../../core/event/event.ts";
import type { SignalSent } from "../../../core/event/signal.ts";
import { historyRows, signalPuts } from "../../../core/evolve/event-rows.ts";
import { emptyRun } from "../../../core/run/run.ts";
import { type HaltEvent, haltPuts } from "../../../core/settings/halt.ts";

import { type NamedSessionEvent, namedSessionPuts } from "../../../core/settings/named-session.ts";
import { type ProjectLockEvent, projectLockPuts } from "../../../core/settings/project-lock.ts";

import { type RetentionEvent, retentionPut } from "../../../core/settings/retention-events.ts";
import { foldSchedule, type ScheduleEvent, schedulePuts } from "../../../core/settings/schedule.ts";
import { type PolicyEvent, policyPuts } from "../../../core/settings/tenant-policies.ts";
import type { Put, Store, StoredEvent } from "../../../core/store/store.ts";
import type { RunId, Tenant } from "../../../core/values/ids.ts";
import type { JournalCodec, JournalEvent } from "../../journal/journal-codec.ts";
import {
  isBackupJournal,
  isHaltJournal,
  isNamedSessionJournal,
  isPolicyJournal,
  isProjectLockJournal,
  isRetentionJournal,
  isScheduleJournal,
} from "../../journal/journal-names.ts";
import { isSignalJournal } from "../../journal/signal-box.ts";

/** Returns the rows that the events imply, by table and key. Stored rows must equal them byte for byte. */
export function rowsOfEvents(tenant: Tenant, run: RunId, events: readonly JournalEvent[]): ReadonlyMap<string, Put> {
  const rows = new Map<string, Put>();
  for (const put of expectedRows(tenant, run, events)) rows.set(`${put.table} ${put.key}`, put);
  return rows;
}

function expectedRows(tenant: Tenant, run: RunId, events: readonly JournalEvent[]): readonly Put[] {
  if (areSignalEvents(run, events)) return events.flatMap(({ box, request }) => signalPuts(box, run, request));
  if (isProjectLockJournal(run)) return projectLockPuts(run, events as unknown as readonly ProjectLockEvent[]);
  if (isNamedSessionJournal(run)) return namedSessionPuts(run, events as unknown as readonly NamedSessionEvent[]);
  if (isHaltJournal(run)) return haltPuts(run, events as unknown as readonly HaltEvent[]);
  if (isBackupJournal(run)) return [];
  if (isRetentionJournal(run)) return [retentionPut(run, events as unknown as readonly RetentionEvent[])];
  if (isPolicyJournal(run)) return policyPuts(run, events as unknown as readonly PolicyEvent[]);
  if (isScheduleJournal(run)) return schedulePuts(run, foldSchedule(events as readonly ScheduleEvent[]));
  return historyRows(emptyRun(run, tenant), events as readonly Event[]);
}

/** Returns whether a journal belongs to a run, not to a signal, a schedule or a setting. */
export function isRunJournal(journal: RunId): boolean {
  return !(
    isSignalJournal(journal) ||
    isScheduleJournal(journal) ||
    isPolicyJournal(journal) ||
    isHaltJournal(journal) ||
    isRetentionJournal(journal) ||
    isBackupJournal(journal) ||
    isProjectLockJournal(journal) ||
    isNamedSessionJournal(journal)
  );
}

/** A signal journal contains only signal events. */
function areSignalEvents(run: RunId, events: readonly JournalEvent[]): events is readonly SignalSent[] {
  return isSignalJournal(run) && events.length > 0;
}

export async function openEvents(
  store: Store,
  journal: JournalCodec,
  stored: readonly StoredEvent[],
): Promise<readonly JournalEvent[]> {
  const events: JournalEvent[] = [];
  for (const event of stored)
    events.push(journal.openInline<JournalEvent>(event) ?? (await journal.open(event, store)));
  return events;
}
