import { assert } from "../../core/assert.ts";
import { judge, type View, versionAfter } from "../../core/judge.ts";
import type { Entry, Landing } from "../../core/store.ts";
import type { Statements } from "./statements.ts";

const yes: Landing = { landed: true };

/** Lands one entry inside a transaction: everything of it, or nothing and the reason why. */
export function landing(statements: Statements): (entry: Entry) => Landing {
  const view = viewOf(statements);
  return (entry) => {
    if (isPlain(entry) && advance(statements, entry)) {
      write(statements, entry);
      return yes;
    }
    const verdict = judge(entry, view);
    if (!verdict.landed) return verdict;
    assert(!isPlain(entry), "what may land advances the head");
    writeHead(statements, entry);
    write(statements, entry);
    return verdict;
  };
}

/** Its epoch and its position are all its conditions, so that moving the head judges it. */
function isPlain({ expect, events, puts, charges, checks }: Entry): boolean {
  return (
    expect.position > 0 &&
    events.length > 0 &&
    checks.length === 0 &&
    puts.every(({ was }) => was === "any") &&
    charges.every(({ limit }) => limit === null)
  );
}

/** Moves the head of a run that is where the entry expects it. False: it is not, and nothing was written. */
function advance({ advanceHead, advanceFencedHead }: Statements, { tenant, run, expect, events }: Entry): boolean {
  const last = events.at(-1);
  if (last === undefined) return false;
  const { position, hash } = last;
  const { changes } =
    expect.epoch === null
      ? advanceHead.run(position, hash, tenant, run, expect.position)
      : advanceFencedHead.run(position, hash, tenant, run, expect.position, expect.epoch);
  return changes === 1;
}

function writeHead(statements: Statements, { tenant, run, expect, events }: Entry): void {
  const last = events.at(-1);
  if (last === undefined) return;
  if (expect.position === 0) statements.insertHead.run(last.position, last.hash, tenant, run);
  else statements.advanceHead.run(last.position, last.hash, tenant, run, expect.position);
}

function write(statements: Statements, { tenant, run, events, puts, charges }: Entry): void {
  for (const { position, type, v, at, body, hash } of events) {
    statements.insertEvent.run(tenant, run, position, type, v, at, body, hash);
  }
  for (const put of puts) {
    if (put.row === null) statements.removeRow[put.table].run(tenant, put.key);
    else statements.putRow[put.table].run(tenant, put.key, versionAfter(put), put.row);
  }
  for (const { tally, amount } of charges) statements.charge.run(tenant, tally, amount);
}

function viewOf(statements: Statements): View {
  return {
    epoch: (tenant, run) => statements.epoch.get(tenant, run)?.epoch ?? null,
    position: (tenant, run) => statements.head.get(tenant, run)?.position ?? 0,
    hash: (tenant, run, position) => statements.eventHash.get(tenant, run, position)?.hash ?? null,
    row: (tenant, table, key) => {
      const row = statements.row[table].get(tenant, key);
      return row === undefined ? null : { ...row };
    },
    used: (tenant, tally) => statements.used.get(tenant, tally)?.used ?? 0,
  };
}
