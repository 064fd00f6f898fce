import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { RunId, Tenant } from "../src/core/id.ts";
import { connect, type Database, type Statement } from "../src/store/sqlite/driver.ts";
import { leases } from "../src/store/sqlite/leases.ts";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { prepareAll } from "../src/store/sqlite/statements.ts";
import { fakeClock } from "../src/testing/clock.ts";
import { ana, entry, row } from "../src/testing/store-contract/law.ts";

const clock = fakeClock();

/** A file in which so many runs are due, in two queues, and as many need a tool that nobody offers. */
async function fileWith(runs: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "writ-claims-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = sqlite(join(folder, "writ.db"), { clock });
  const entries = Array.from({ length: runs * 2 }, (_, nth) => {
    const run = `run-${nth}` as RunId;
    const place =
      nth % 2 === 0 ? { due_at: clock.now() - nth, queue: `q${nth % 4}` } : { due_at: null, needs: ["a@1"] };
    const puts = [{ table: "timer", key: run, was: "any", row: row(place) }] as const;
    return entry({ tenant: `tenant-${nth % 3}` as Tenant, run, puts });
  });
  await store.append(entries);
  await store.close();
  return join(folder, "writ.db");
}

/** The rows that statements have read, and how SQLite finds them. */
function watched(db: Database): { readonly db: Database; readonly read: { rows: number; plans: Set<string> } } {
  const read = { rows: 0, plans: new Set<string>() };
  const counted = <Row>(sql: string, real: Statement<Row>): Statement<Row> => {
    const seen = <Answer>(rows: number, answer: Answer): Answer => {
      read.rows += rows;
      for (const step of db.prepare(`explain query plan ${sql}`).all() as { detail: string }[])
        read.plans.add(step.detail);
      return answer;
    };
    return {
      run: (...values) => real.run(...values),
      get: (...values) => seen(1, real.get(...values)),
      all: (...values) => {
        const rows = real.all(...values);
        return seen(rows.length, rows);
      },
      setReturnArrays: (enabled) => real.setReturnArrays(enabled),
    };
  };
  const prepare = (sql: string) => counted(sql, db.prepare(sql));
  return { db: { isTransaction: false, prepare, exec: (sql) => db.exec(sql), close: () => db.close() }, read };
}

it.each([10, 1000])("a claim on SQLite reads what it may take, however many are due (%s)", async (runs) => {
  const { db, read } = watched(connect(await fileWith(runs)));
  onTestFinished(() => db.close());
  const group = { join: async <Result>(_: string, work: () => Result) => work() };
  const context = {
    statements: prepareAll(db),
    group,
    clock,
    leaseMs: 15_000,
    read: <Result>(work: () => Result) => work(),
  };
  const claims = await leases(context as never, "boot").claimDue(ana, 5, { offers: ["b@1"] });
  expect(claims).toHaveLength(5);
  expect(read.rows).toBeLessThan(6 * 5 + 40); // Six places, as many of each as are wanted, and the way from one to the next.
  expect([...read.plans].filter((plan) => /SCAN timer|SCAN lease|TEMP B-TREE/.test(plan))).toEqual([]);
});
