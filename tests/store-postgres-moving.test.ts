import assert from "node:assert/strict";
import { describe, it, onTestFinished } from "vitest";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { acme, ana, bob, globex, hire, land, landed, row } from "../src/testing/store-contract/law.ts";
import { type Database, database } from "./postgres/database.ts";
import { dumpOf } from "./postgres/dump.ts";

const tables = ["head", "event", "rows", "tally", "due", "lease", "blob"];

/** As docs/postgres.md says: every row of the tenant, and of nobody else. */
async function move(tenant: string, from: Database, to: Database): Promise<void> {
  for (const table of tables) {
    const [rows] = await from.query<[string]>(
      `select coalesce(json_agg(t), '[]')::text from writ.${table} t where tenant = '${tenant}'`,
    );
    const json = (rows?.[0] ?? "[]").replaceAll("'", "''");
    await to.query(`insert into writ.${table} select * from json_populate_recordset(null::writ.${table}, '${json}')`);
    await from.query(`delete from writ.${table} where tenant = '${tenant}'`);
  }
}

describe("a tenant that moves to another Postgres", () => {
  const [here, there] = [database(), database()];

  it("takes everything along, its fences too, and leaves the others as they were", async () => {
    const [old, next] = [await postgres(here.url), await postgres(there.url)];
    onTestFinished(async () => void (await Promise.all([old.close(), next.close()])));
    for (const tenant of [acme, globex]) {
      const puts = [
        { table: "timer", key: hire, was: "any", row: row({ due_at: 1, needs: ["a@1"] }) },
        { table: "ledger", key: "k", was: null, row: row({ state: "started" }) },
      ] as const;
      await landed(old, { tenant, puts, charges: [{ tally: "usd", amount: 1.5, limit: null }] });
      await old.putBlob(tenant, "ab" as never, new Uint8Array([1, 2]));
    }
    const late = await old.claim(ana, acme, hire);
    assert.ok(late !== null);
    await old.release(late);
    const before = await dumpOf(here);
    await move(acme, here, there);
    const of = (dump: typeof before, tenant: string) =>
      Object.entries(dump).map(([table, rows]) => [table, rows.filter(([owner]) => owner === tenant)]);
    assert.deepEqual(of(await dumpOf(there), acme), of(before, acme));
    assert.deepEqual(of(await dumpOf(here), globex), of(before, globex));

    const [claim] = await next.claimDue(bob, 9);
    assert.equal(claim?.epoch, late.epoch + 1);
    assert.deepEqual(await land(next, { at: 1, epoch: late.epoch }), { landed: false, why: "epoch" });
    await landed(next, { at: 1, epoch: claim?.epoch ?? null });
    assert.equal(await old.head(acme, hire), null);
  });
});
