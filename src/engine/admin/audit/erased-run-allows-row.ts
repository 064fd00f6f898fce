import type { StoredRow } from "../../../core/store/store.ts";
import type { Table } from "../../../core/store/tables.ts";
import type { Json } from "../../../core/values/json.ts";
import type { JournalEvent } from "../../journal/journal-codec.ts";
import type { JournalFold } from "./journal-fold-cache.ts";

type ErasedJournal = Extract<JournalFold, { kind: "erased" }>;

/**
 * Returns whether the events that retention kept agree with a row of their journal: types and times of all events, and
 * the bodies of receipts and state changes. They do not determine every field.
 */
export function erasedRunAllowsRow(
  journal: ErasedJournal,
  table: Table,
  stored: StoredRow,
  row: Readonly<Record<string, Json>>,
): boolean {
  const first = journal.events[0];
  switch (table) {
    case "run":
      return row.accepted_at === first?.at && row.final === true && hasEvent(journal, "run.ended", row.ended_at);
    case "ledger":
      return allowsLedgerRow(journal, stored, row);
    case "gate":
      return hasEvent(journal, "gate.opened", row.opened_at);
    case "outcome": {
      const made = journal.events[Number(row.position) - 1];
      return made !== undefined && made.at === row.at && /^step\.(succeeded|settled)$/.test(made.type);
    }
    case "project": {
      const made = journal.kept.get(Number(row.position));
      if (made === undefined || !("state" in made) || made.state === undefined) return false;
      const { project, version, commit } = made.state;
      return project === stored.key && version === stored.version && commit === row.commit;
    }
    case "doubt": // A run with an act in doubt has not ended.
      return false;
    case "notice": // Retention waits until all notices are delivered.
      return false;
    case "timer":
      return first?.type !== "run.accepted"; // An ended run is never due. A schedule is.
    case "request":
      return first?.type === "run.accepted" || first?.type === "signal.sent";
    case "signal":
    case "setting":
      return true;
  }
}

function hasEvent({ events }: ErasedJournal, type: string, at: Json | undefined): boolean {
  return events.some((event) => event.type === type && event.at === at);
}

function allowsLedgerRow({ kept }: ErasedJournal, stored: StoredRow, row: Readonly<Record<string, Json>>): boolean {
  if (row.key !== stored.key) return false;
  if (row.receipt === null) return ![...kept.values()].some((event) => provesLater(event, stored));
  const proof = kept.get(Number(row.receipt));
  const ledger = proof && ledgerIn(proof);
  if (!proof || !ledger || !("step_id" in proof)) return false;
  const isSameKey = ledger.key === undefined || ledger.key === stored.key;
  return isSameKey && proof.step_id === row.step_id && ledger.generation === row.generation;
}

/** Returns whether an event proves an act of this key in the version of the row or a later one. */
function provesLater(event: JournalEvent, { key, version }: StoredRow): boolean {
  const ledger = ledgerIn(event);
  return ledger?.key === key && ledger.version >= version;
}

/** Returns the ledger row that an event changed, or null. */
export function ledgerIn(event: JournalEvent) {
  return "ledger" in event && event.ledger && !event.ledger.superseded ? event.ledger : null;
}
