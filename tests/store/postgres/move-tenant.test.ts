import assert from "node:assert/strict";
import { describe, it, onTestFinished } from "vitest";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import {
  appendEntry,
  assertLands,
  rowJson,
  runA,
  tenantA,
  tenantB,
  workerA,
  workerB,
} from "../../../src/testing/store-contract/contract-rule.ts";
import { dumpPostgres } from "./postgres-dump.ts";
import { type TestDatabase, testDatabase } from "./test-database.ts";

const tables = ["head", "event", "rows", "tally", "due", "lease", "blob"];

/** Moves every row of one tenant, as docs/postgres.md describes. */
async function moveTenant(tenant: string, from: TestDatabase, to: TestDatabase): Promise<void> {
  for (const table of tables) {
    const [rows] = await from.query<[string]>(
      `select coalesce(json_agg(t), '[]')::text from writ.${table} t where tenant = '${tenant}'`,
    );
    const json = (rows?.[0] ?? "[]").replaceAll("'", "''");
    await to.query(`insert into writ.${table} select * from json_populate_recordset(null::writ.${table}, '${json}')`);
    await from.query(`delete from writ.${table} where tenant = '${tenant}'`);
  }
}

describe("tenant that moves to another Postgres", () => {
  const [here, there] = [testDatabase(), testDatabase()];

  it("takes all of its rows and epochs along, and leaves other tenants unchanged", async () => {
    const [old, next] = [await postgres(here.url), await postgres(there.url)];
    onTestFinished(async () => void (await Promise.all([old.close(), next.close()])));
    for (const tenant of [tenantA, tenantB]) {
      const puts = [
        { table: "timer", key: runA, was: "any", row: rowJson({ due_at: 1, needs: ["a@1"] }) },
        { table: "ledger", key: "k", was: null, row: rowJson({ state: "started" }) },
      ] as const;
      await assertLands(old, { tenant, puts, charges: [{ tally: "usd", amount: 1.5, limit: null }] });
      await old.putBlob(tenant, "ab" as never, new Uint8Array([1, 2]));
    }
    const late = await old.claim(workerA, tenantA, runA);
    assert.ok(late !== null);
    await old.release(late);
    const before = await dumpPostgres(here);
    await moveTenant(tenantA, here, there);
    const rowsOf = (dump: typeof before, tenant: string) =>
      Object.entries(dump).map(([table, rows]) => [table, rows.filter(([owner]) => owner === tenant)]);
    assert.deepEqual(rowsOf(await dumpPostgres(there), tenantA), rowsOf(before, tenantA));
    assert.deepEqual(rowsOf(await dumpPostgres(here), tenantB), rowsOf(before, tenantB));

    const [claim] = await next.claimDue(workerB, 9);
    assert.equal(claim?.epoch, late.epoch + 1);
    assert.deepEqual(await appendEntry(next, { at: 1, epoch: late.epoch }), { landed: false, why: "epoch" });
    await assertLands(next, { at: 1, epoch: claim?.epoch ?? null });
    assert.equal(await old.head(tenantA, runA), null);
  });
});
