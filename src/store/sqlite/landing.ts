import { assert } from "../../core/assert.ts";
import { judge, judgeBeyond, type View, versionAfter } from "../../core/judge.ts";
import type { Entry, Landing, SealedEvent } from "../../core/store.ts";
import type { Value } from "./driver.ts";
import { MANY, type Statements } from "./statements.ts";

const yes: Landing = { landed: true };

/** Lands one entry inside a transaction: everything of it, or nothing and the reason why. */
export function landing(statements: Statements): (entry: Entry) => Landing {
  const view = viewOf(statements);
  return (entry) => {
    if (movesHead(entry) && judgeBeyond(entry, view).landed && advance(statements, entry)) {
      write(statements, entry);
      return yes;
    }
    // Nothing is written yet.
    const verdict = judge(entry, view);
    if (!verdict.landed) return verdict;
    assert(!movesHead(entry), "what may land moves the head");
    begin(statements, entry);
    write(statements, entry);
    return yes;
  };
}

/** Not the first entry of a run, and not one of rows alone. */
function movesHead({ expect, events }: Entry): boolean {
  return expect.position > 0 && events.length > 0;
}

/** The first write, and a condition: it changes no row if epoch or position is not as expected, so neither is read. */
function advance(statements: Statements, { tenant, run, expect, events }: Entry): boolean {
  const { position, hash } = lastOf(events);
  const { changes } =
    expect.epoch === null
      ? statements.advanceHead.run(position, hash, tenant, run, expect.position)
      : statements.advanceFencedHead.run(position, hash, tenant, run, expect.position, expect.epoch);
  return changes === 1;
}

function begin(statements: Statements, { tenant, run, events }: Entry): void {
  if (events.length === 0) return;
  const { position, hash } = lastOf(events);
  statements.insertHead.run(position, hash, tenant, run);
}

function lastOf(events: Entry["events"]): SealedEvent {
  const last = events.at(-1);
  assert(last !== undefined, "only an entry with events has a head to write");
  return last;
}

function write(statements: Statements, entry: Entry): void {
  const { tenant, puts, charges } = entry;
  record(statements, entry);
  for (const put of puts) {
    if (put.row === null) statements.removeRow[put.table].run(tenant, put.key);
    else statements.putRow[put.table].run(tenant, put.key, versionAfter(put), put.row);
  }
  for (const { tally, amount } of charges) statements.charge.run(tenant, tally, amount);
}

/** Many steps that end together say the same kind of thing, one after the other. */
function record(statements: Statements, { tenant, run, events }: Entry): void {
  for (let next = 0; next < events.length; ) {
    const { position, type, v, at, body, hash } = events[next] as SealedEvent;
    if (areAlike(events, next, MANY)) {
      const values: Value[] = [tenant, run, type, v, position];
      for (let index = next; index < next + MANY; index += 1) pushOwn(values, events[index] as SealedEvent);
      statements.insertManyEvents.run(...values);
      next += MANY;
    } else {
      statements.insertEvent.run(tenant, run, type, v, position, at, body, hash);
      next += 1;
    }
  }
}

/** What an event has of its own. */
function pushOwn(values: Value[], { at, body, hash }: SealedEvent): void {
  values.push(at, body, hash);
}

function areAlike(events: Entry["events"], from: number, count: number): boolean {
  const { type, v } = events[from] as SealedEvent;
  for (let index = from + 1; index < from + count; index += 1) {
    const event = events[index];
    if (event === undefined || event.type !== type || event.v !== v) return false;
  }
  return true;
}

function viewOf(statements: Statements): View {
  return {
    epoch: (tenant, run) => statements.epoch.get(tenant, run)?.epoch ?? null,
    position: (tenant, run) => statements.head.get(tenant, run)?.[0] ?? 0,
    hash: (tenant, run, position) => statements.eventHash.get(tenant, run, position)?.hash ?? null,
    row: (tenant, table, key) => statements.findRow(tenant, table, key),
    used: (tenant, tally) => statements.used.get(tenant, tally)?.used ?? 0,
  };
}
