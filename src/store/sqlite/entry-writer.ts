import {
  type AppendView,
  checkEntry,
  checkRowsAndCharges,
  rowVersionAfter,
} from "../../core/store/append-conditions.ts";
import type { AppendResult, Entry, Put, SealedEvent } from "../../core/store/store.ts";
import { taggedRowFields } from "../../core/store/tables.ts";
import { assert } from "../../core/values/assert.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import type { SqliteValue } from "./sqlite-driver.ts";
import { updateTags } from "./sqlite-searches.ts";
import { EVENTS_PER_INSERT, type SqliteStatements } from "./statements.ts";

const LANDED: AppendResult = { landed: true };

/** Makes a function that writes one entry inside a transaction, or writes nothing and returns the reason. */
export function createEntryWriter(statements: SqliteStatements): (entry: Entry) => AppendResult {
  const view = viewOf(statements);
  return (entry) => {
    if (movesHead(entry) && checkRowsAndCharges(entry, view).landed && moveHead(statements, entry)) {
      writeRowsAndCharges(statements, entry);
      return LANDED;
    }
    // Nothing is written yet.
    const result = checkEntry(entry, view);
    if (!result.landed) return result;
    assert(!movesHead(entry), "an entry that passes its checks moves the head");
    createHead(statements, entry);
    writeRowsAndCharges(statements, entry);
    return LANDED;
  };
}

/** False for the first entry of a run and for an entry without events. */
function movesHead({ expect, events }: Entry): boolean {
  return expect.position > 0 && events.length > 0;
}

/** Updates the head, with epoch and position as conditions of the update, so that neither is read before. */
function moveHead(statements: SqliteStatements, { tenant, run, expect, events }: Entry): boolean {
  const { position, hash } = lastOf(events);
  const { changes } =
    expect.epoch === null
      ? statements.advanceHead.run(position, hash, tenant, run, expect.position)
      : statements.advanceFencedHead.run(position, hash, tenant, run, expect.position, expect.epoch);
  return changes === 1;
}

function createHead(statements: SqliteStatements, { tenant, run, events }: Entry): void {
  if (events.length === 0) return;
  const { position, hash } = lastOf(events);
  statements.insertHead.run(position, hash, tenant, run);
}

function lastOf(events: Entry["events"]): SealedEvent {
  const last = events.at(-1);
  assert(last !== undefined, "an entry that writes the head has events");
  return last;
}

function writeRowsAndCharges(statements: SqliteStatements, entry: Entry): void {
  const { tenant, puts, charges } = entry;
  insertEvents(statements, entry);
  for (const put of puts) {
    if (taggedRowFields[put.table] !== undefined) updateTags(statements, tenant, put, isFirstRow(entry, put));
    if (put.row === null) statements.removeRow[put.table].run(tenant, put.key);
    else statements.putRow[put.table].run(tenant, put.key, rowVersionAfter(put), put.row);
  }
  for (const { tally, amount } of charges) statements.charge.run(tenant, tally, amount);
}

/** Returns whether the put makes the row of a new run, which has no tags yet. */
function isFirstRow({ run, expect }: Entry, { table, key }: Put): boolean {
  return expect.position === 0 && table === "run" && key === run;
}

/** Inserts consecutive events of one type with one statement. Steps that end together produce such events. */
function insertEvents(statements: SqliteStatements, { tenant, run, events }: Entry): void {
  for (let next = 0; next < events.length; ) {
    const { position, type, v, at, body, hash } = events[next] as SealedEvent;
    if (position > 1 && haveSameType(events, next, EVENTS_PER_INSERT)) {
      const values: SqliteValue[] = [journalOf(statements, tenant, run), type, v, position];
      for (let index = next; index < next + EVENTS_PER_INSERT; index += 1)
        pushEventValues(values, events[index] as SealedEvent);
      statements.insertManyEvents.run(...values);
      next += EVENTS_PER_INSERT;
    } else {
      const insert = position === 1 ? statements.insertFirstEvent : statements.insertEvent;
      insert.run(tenant, run, type, v, position, at, body, hash);
      next += 1;
    }
  }
}

function journalOf(statements: SqliteStatements, tenant: Tenant, run: RunId): number {
  const found = statements.journal.get(tenant, run);
  assert(found !== undefined, "an entry has written the head before its events");
  return found[0];
}

/** Appends the values in which events of one type differ. */
function pushEventValues(values: SqliteValue[], { at, body, hash }: SealedEvent): void {
  values.push(at, body, hash);
}

function haveSameType(events: Entry["events"], from: number, count: number): boolean {
  const { type, v } = events[from] as SealedEvent;
  for (let index = from + 1; index < from + count; index += 1) {
    const event = events[index];
    if (event === undefined || event.type !== type || event.v !== v) return false;
  }
  return true;
}

function viewOf(statements: SqliteStatements): AppendView {
  return {
    epoch: (tenant, run) => statements.epoch.get(tenant, run)?.epoch ?? null,
    position: (tenant, run) => statements.head.get(tenant, run)?.[0] ?? 0,
    hash: (tenant, run, position) => statements.eventHash.get(tenant, run, position)?.hash ?? null,
    row: (tenant, table, key) => statements.findRow(tenant, table, key),
    used: (tenant, tally) => statements.used.get(tenant, tally)?.used ?? 0,
  };
}
