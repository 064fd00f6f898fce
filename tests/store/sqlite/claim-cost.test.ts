import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { RunId, Tenant } from "../../../src/core/values/ids.ts";
import { connectSqlite, type SqliteDatabase, type SqliteStatement } from "../../../src/store/sqlite/sqlite-driver.ts";
import { sqliteLeases } from "../../../src/store/sqlite/sqlite-leases.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite-store.ts";
import { sqliteStatements } from "../../../src/store/sqlite/statements.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { buildEntry, rowJson, workerA } from "../../../src/testing/store-contract/contract-rule.ts";

const clock = fakeClock();

/**
 * Makes a file with this number of due runs in two queues, and as many runs that need a tool which no worker offers.
 */
async function makeFile(runs: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "writ-claims-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = openSqlite(join(folder, "writ.db"), { clock });
  const entries = Array.from({ length: runs * 2 }, (_, nth) => {
    const run = `run-${nth}` as RunId;
    const timer =
      nth % 2 === 0 ? { due_at: clock.now() - nth, queue: `q${nth % 4}` } : { due_at: null, needs: ["a@1"] };
    const puts = [{ table: "timer", key: run, was: "any", row: rowJson(timer) }] as const;
    return buildEntry({ tenant: `tenant-${nth % 3}` as Tenant, run, puts });
  });
  await store.append(entries);
  await store.close();
  return join(folder, "writ.db");
}

/** Counts the rows that statements read and collects their query plans. */
function watchReads(db: SqliteDatabase): {
  readonly db: SqliteDatabase;
  readonly read: { rows: number; plans: Set<string> };
} {
  const read = { rows: 0, plans: new Set<string>() };
  const countReads = <Row>(sql: string, real: SqliteStatement<Row>): SqliteStatement<Row> => {
    const countRead = <Answer>(rows: number, answer: Answer): Answer => {
      read.rows += rows;
      for (const step of db.prepare(`explain query plan ${sql}`).all() as { detail: string }[])
        read.plans.add(step.detail);
      return answer;
    };
    return {
      run: (...values) => real.run(...values),
      get: (...values) => countRead(1, real.get(...values)),
      all: (...values) => {
        const rows = real.all(...values);
        return countRead(rows.length, rows);
      },
      setReturnArrays: (enabled) => real.setReturnArrays(enabled),
    };
  };
  const prepare = (sql: string) => countReads(sql, db.prepare(sql));
  return { db: { isTransaction: false, prepare, exec: (sql) => db.exec(sql), close: () => db.close() }, read };
}

it.each([10, 1000])("a claim on SQLite reads only what it may take, for %s due runs", async (runs) => {
  const { db, read } = watchReads(connectSqlite(await makeFile(runs)));
  onTestFinished(() => db.close());
  const group = { isIdle: true, join: async <Result>(_: string, work: () => Result) => work() };
  const context = {
    statements: sqliteStatements(db),
    group,
    clock,
    leaseMs: 15_000,
    workers: { lacksTerms: () => false },
    read: <Result>(work: () => Result) => work(),
  };
  const claims = await sqliteLeases(context as never, "boot").claimDue(workerA, 5, { offers: ["b@1"] });
  expect(claims).toHaveLength(5);
  // Six index ranges with the wanted number of rows each, plus the steps between them, after a look at one row of each.
  expect(read.rows).toBeLessThan(6 * 5 + 40 + 6 * 1 + 40);
  expect([...read.plans].filter((plan) => /SCAN timer|SCAN lease|TEMP B-TREE/.test(plan))).toEqual([]);
});
