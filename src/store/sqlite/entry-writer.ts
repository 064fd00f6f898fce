import { type AppendView, checkCharges, checkEntry, rowVersionAfter } from "../../core/store/check-entry.ts";
import { type AppendResult, checkedTenant, type Entry, type Put, type SealedEvent } from "../../core/store/store.ts";
import { taggedRowFields } from "../../core/store/tables.ts";
import { assert } from "../../core/values/assert.ts";
import type { Epoch, RunId, Tenant } from "../../core/values/ids.ts";
import type { AppendContext } from "./append-context.ts";
import { progressTypes } from "./event-statements.ts";
import { LateRefusalError } from "./group-commit.ts";
import { updateTags } from "./sqlite-searches.ts";
import type { SqliteStatements } from "./statements.ts";

const LANDED: AppendResult = { landed: true };

/**
 * Makes a function that writes one entry inside a transaction, or writes nothing and returns the reason. Conditions on
 * versions and positions are part of the writes where possible, so that nothing is read before. Such a write that fails
 * after another one of its entry throws LateRefusalError, unless `checksFirst` is true.
 */
export function createEntryWriter(parts: AppendContext): (entry: Entry, checksFirst: boolean) => AppendResult {
  const view = viewOf(parts);
  const writeChecked = (entry: Entry): AppendResult => {
    const result = checkEntry(entry, view);
    if (!result.landed) return result;
    parts.heads.forget(entry.tenant, entry.run);
    const { written, journal } = writeConditions(parts, entry);
    assert(written, "an entry that passes its checks meets the conditions of its writes");
    writeRest(parts, entry, journal);
    return LANDED;
  };
  return (entry, checksFirst) => {
    if (checksFirst || !meetsReadConditions(entry, view, parts.settings)) return writeChecked(entry);
    const { written, some, journal } = writeConditions(parts, entry);
    if (written) {
      writeRest(parts, entry, journal);
      return LANDED;
    }
    if (some) throw new LateRefusalError("a condition failed after another write of its entry");
    return writeChecked(entry);
  };
}

/** Returns whether the conditions hold that are not part of a write. */
function meetsReadConditions(entry: Entry, view: AppendView, settings: AppendContext["settings"]): boolean {
  const { tenant, puts, checks, charges, events } = entry;
  if (events.length === 0) return false; // Without a write of the head, epoch and position are read.
  for (const check of checks) {
    const owner = checkedTenant(tenant, check);
    const { table, key, was } = check;
    const found = table === "setting" ? settings.of(owner, key) : (view.row(owner, table, key)?.version ?? null);
    if (found !== was) return false;
  }
  for (const put of puts) {
    if (put.was === "any" || isConditionalWrite(put)) continue;
    if ((view.row(tenant, put.table, put.key)?.version ?? null) !== put.was) return false;
  }
  return checkCharges(tenant, charges, view) === undefined;
}

/** Returns whether the expected version of a row is a condition of its write. The tags of a row need its old content. */
function isConditionalWrite({ table, was, row }: Put): boolean {
  return was !== "any" && row !== null && taggedRowFields[table] === undefined;
}

/** How far the conditions of an entry were written, and the number of its journal; null: it has no events. */
interface WrittenConditions {
  readonly written: boolean;
  readonly some: boolean;
  readonly journal: number | null;
}

/** Writes the rows with expected versions, and the head. Stops at the first condition that fails. */
function writeConditions(parts: AppendContext, entry: Entry): WrittenConditions {
  let some = false;
  for (const put of entry.puts) {
    if (!isConditionalWrite(put)) continue;
    if (!writeConditionalRow(parts.statements, entry.tenant, put)) return { written: false, some, journal: null };
    some = true;
  }
  const journal = entry.events.length === 0 ? null : writeHead(parts, entry);
  return { written: entry.events.length === 0 || journal !== null, some, journal };
}

function writeConditionalRow({ insertRow, updateRow }: SqliteStatements, tenant: Tenant, put: Put): boolean {
  const { table, key, was } = put;
  const row = put.row as string;
  const version = rowVersionAfter(put);
  const { changes } =
    was === null
      ? insertRow[table].run(tenant, key, version, row)
      : updateRow[table].run(tenant, key, version, row, was as number);
  return changes === 1;
}

/**
 * Moves the head, if position and epoch are the expected ones. Returns the number of the journal, or null if they are
 * not.
 */
function writeHead(parts: AppendContext, entry: Entry): number | null {
  const { tenant, run, expect, events } = entry;
  const last = lastOf(events);
  if (expect.position === 0) return createHead(parts, tenant, run, expect.epoch, last);
  const { statements, heads } = parts;
  const { position, hash } = last;
  const isWritten = writesHeadRow(entry);
  const journal = heads.move(entry, position, isWritten);
  if (journal !== null && isWritten) statements.moveHead.run(position, hash, tenant, run);
  return journal;
}

/**
 * Returns whether the row of the head moves too. It stays behind while a worker begins and ends calls, so that a step
 * writes one page less, and moves with every other entry and when the worker releases the run.
 */
function writesHeadRow({ run, expect, events, puts }: Entry): boolean {
  if (expect.epoch === null || !events.every(({ type }) => progressTypes.has(type))) return true;
  return puts.some(({ table, key }) => table === "run" && key === run);
}

function createHead(
  { statements, heads, events }: AppendContext,
  tenant: Tenant,
  run: RunId,
  epoch: Epoch | null,
  { position, hash }: Pick<SealedEvent, "position" | "hash">,
): number | null {
  // The first entry of a run has no lease; if it expects one, the epoch is read.
  if (epoch !== null && statements.epoch.get(tenant, run)?.epoch !== epoch) return null;
  events.flush(); // The number of the new journal is that of the next event.
  const created = statements.insertHead.get(position, hash, tenant, run);
  if (created === undefined) return null;
  heads.add(tenant, run, created[0], position);
  return created[0];
}

function lastOf(events: Entry["events"]): SealedEvent {
  const last = events.at(-1);
  assert(last !== undefined, "an entry that writes the head has events");
  return last;
}

/** Writes everything of an entry whose conditions are written. */
function writeRest(parts: AppendContext, entry: Entry, journal: number | null): void {
  const { statements, settings, events: log } = parts;
  const { tenant, run, puts, charges, events } = entry;
  if (journal !== null) {
    const isNew = entry.expect.position === 0;
    if (isNew) log.insertFirst(tenant, run, journal, events[0] as SealedEvent);
    log.add(journal, events, isNew ? 1 : 0);
  }
  for (const put of puts) {
    if (put.table === "setting") settings.forget();
    if (isConditionalWrite(put)) continue;
    if (taggedRowFields[put.table] !== undefined) updateTags(parts, tenant, put, isFirstRow(entry, put));
    if (put.row === null) statements.removeRow[put.table].run(tenant, put.key);
    else statements.putRow[put.table].run(tenant, put.key, rowVersionAfter(put), put.row);
  }
  for (const { tally, amount } of charges) statements.charge.run(tenant, tally, amount);
}

/** Returns whether the put makes the row of a new run, which has no tags yet. */
function isFirstRow({ run, expect }: Entry, { table, key }: Put): boolean {
  return expect.position === 0 && table === "run" && key === run;
}

function viewOf({ statements, events, heads }: AppendContext): AppendView {
  return {
    epoch: (tenant, run) => statements.epoch.get(tenant, run)?.epoch ?? null,
    position: (tenant, run) => heads.positionOf(tenant, run) ?? 0,
    hash: (tenant, run, position) => {
      events.flush();
      return statements.eventHash.get(tenant, run, position)?.hash ?? null;
    },
    row: (tenant, table, key) => statements.findRow(tenant, table, key),
    used: (tenant, tally) => statements.used.get(tenant, tally)?.used ?? 0,
  };
}
