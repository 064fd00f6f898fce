import assert from "node:assert/strict";
import { type Put, type Query, type Store, sharedTenant } from "../../core/store/store.ts";
import type { Table } from "../../core/store/tables.ts";
import {
  appendEntry,
  assertLands,
  buildEntry,
  type ContractRule,
  rowJson,
  runA,
  runB,
  tenantA,
  tenantB,
} from "./contract-rule.ts";

const open = rowJson({ status: "open", run_id: runA });
const closed = rowJson({ status: "closed", run_id: runA });

export const rowRules: readonly ContractRule[] = [
  {
    title: "gives a new row version 1 and increments it with each change",
    assertHolds: async (store) => {
      await assertLands(store, { puts: [putGate(null, open)] });
      assert.deepEqual({ ...(await store.row(tenantA, "gate", "g")) }, { key: "g", version: 1, row: open });
      await assertLands(store, { at: 1, puts: [putGate(1, closed)] });
      assert.deepEqual({ ...(await store.row(tenantA, "gate", "g")) }, { key: "g", version: 2, row: closed });
    },
  },
  {
    title: "rejects a row that must be new, and returns the stored row",
    assertHolds: async (store) => {
      await assertLands(store, { puts: [putGate(null, open)] });
      const landing = await appendEntry(store, { run: runB, puts: [putGate(null, closed)] });
      assert.ok(!landing.landed && landing.why === "row");
      assert.deepEqual([landing.table, landing.key], ["gate", "g"]);
      assert.deepEqual({ ...landing.found }, { key: "g", version: 1, row: open });
    },
  },
  {
    title: "rejects a put of another version, and returns null if the row does not exist",
    assertHolds: async (store) => {
      const landing = await appendEntry(store, { puts: [putGate(1, closed)] });
      assert.deepEqual(landing, { landed: false, why: "row", table: "gate", key: "g", found: null });
    },
  },
  {
    title: "writes a read-model row without a condition, as version 0, over any stored row",
    assertHolds: async (store) => {
      await assertLands(store, { puts: [putGate("any", open)] });
      assert.equal((await store.row(tenantA, "gate", "g"))?.version, 0);
      await assertLands(store, { at: 1, puts: [putGate(0, open)] });
      await assertLands(store, { at: 2, puts: [putGate("any", closed)] });
      assert.deepEqual({ ...(await store.row(tenantA, "gate", "g")) }, { key: "g", version: 0, row: closed });
    },
  },
  {
    title: "removes a row with or without a condition, and accepts it as new again",
    assertHolds: async (store) => {
      await assertLands(store, { puts: [putGate(null, open)] });
      const stale = await appendEntry(store, { at: 1, puts: [putGate(2, null)] });
      assert.ok(!stale.landed && stale.why === "row");
      await assertLands(store, { at: 1, puts: [putGate(1, null)] });
      assert.equal(await store.row(tenantA, "gate", "g"), null);
      await assertLands(store, { at: 2, puts: [putGate(null, open)] });
      await assertLands(store, { at: 3, puts: [putGate("any", null)] });
      await assertLands(store, { at: 4, puts: [putGate("any", null)] });
      assert.equal(await store.row(tenantA, "gate", "g"), null);
    },
  },
  {
    title: "checks a row without changing it",
    assertHolds: async (store) => {
      await assertLands(store, { puts: [putGate(null, open)] });
      const checks = [
        { table: "gate", key: "g", was: 1 },
        { table: "gate", key: "none", was: null },
      ] as const;
      await assertLands(store, { run: runB, checks });
      assert.equal((await store.row(tenantA, "gate", "g"))?.version, 1);
      const landing = await appendEntry(store, { run: runB, at: 1, checks: [{ table: "gate", key: "g", was: 4 }] });
      assert.ok(!landing.landed && landing.why === "check");
      assert.deepEqual({ ...landing.found }, { key: "g", version: 1, row: open });
    },
  },
  {
    title: "evaluates rows before checks and checks before charges",
    assertHolds: async (store) => {
      const charges = [{ tally: "usd", amount: 2, limit: 1 }];
      const checks = [{ table: "gate", key: "none", was: 1 }] as const;
      const all = await appendEntry(store, { puts: [putGate(1, open)], checks, charges });
      const two = await appendEntry(store, { checks, charges });
      assert.deepEqual([!all.landed && all.why, !two.landed && two.why], ["row", "check"]);
    },
  },
  {
    title: "evaluates a glance at a row of the tenant when the entry is checked",
    assertHolds: async (store) => {
      const glance = (was: number | null) => [{ table: "gate", key: "g", was, glance: "own" }] as const;
      await assertLands(store, { checks: glance(null) });
      await assertLands(store, { run: runB, puts: [putGate(null, open)] });
      for (const at of [1, 2]) {
        const late = await appendEntry(store, { at, checks: glance(null) });
        assert.ok(!late.landed && late.why === "check" && late.table === "gate" && late.key === "g");
        await assertLands(store, { at, checks: glance(1) });
      }
      assert.equal((await store.head(tenantA, runA))?.position, 3);
    },
  },
  {
    title: "evaluates a glance at a shared row for every tenant",
    assertHolds: async (store) => {
      const glance = (was: number | null) => [{ table: "gate", key: "g", was, glance: "house" }] as const;
      for (const tenant of [tenantA, tenantB]) await assertLands(store, { tenant, checks: glance(null) });
      await assertLands(store, { tenant: sharedTenant, puts: [putGate(null, open)] });
      for (const tenant of [tenantA, tenantB]) {
        const late = await appendEntry(store, { tenant, at: 1, checks: glance(null) });
        assert.ok(!late.landed && late.why === "check" && late.key === "g");
        assert.equal(await store.row(tenant, "gate", "g"), null);
        await assertLands(store, { tenant, at: 1, checks: glance(1) });
      }
    },
  },
  {
    title: "evaluates a glance after epoch, position and rows, separately for each entry",
    assertHolds: async (store) => {
      const old = [{ table: "gate", key: "g", was: 7, glance: "own" }] as const;
      const none = [{ table: "gate", key: "g", was: null, glance: "house" }] as const;
      await assertLands(store, {});
      const moved = await appendEntry(store, { at: 4, checks: old });
      const row = await appendEntry(store, { at: 1, checks: old, puts: [putGate(3, open)] });
      assert.deepEqual([!moved.landed && moved.why, !row.landed && row.why], ["position", "row"]);
      const entries = [buildEntry({ at: 1, checks: none }), buildEntry({ run: runB, checks: old })];
      const [first, second] = await store.append(entries);
      assert.ok(first?.landed && second?.landed === false && second.why === "check");
    },
  },
  {
    title: "keeps rows with the same key in different tables separate",
    assertHolds: async (store) => {
      const tables: readonly Table[] = [
        "run",
        "ledger",
        "request",
        "signal",
        "notice",
        "project",
        "outcome",
        "setting",
      ];
      await assertLands(store, {
        puts: tables.map((table) => ({ table, key: "k", was: null, row: rowJson({ table }) })),
      });
      for (const table of tables) assert.equal((await store.row(tenantA, table, "k"))?.row, rowJson({ table }));
      assert.equal(await store.row(tenantA, "gate", "k"), null);
    },
  },
  {
    title: "lists by key in the requested order, after a key, up to a limit",
    assertHolds: async (store) => {
      const keys = ["b", "é", "a", "😀", "C", "\uff5e"];
      await assertLands(store, { puts: keys.map((key) => ({ table: "gate", key, was: "any", row: open })) });
      const byBytes = ["C", "a", "b", "é", "\uff5e", "😀"];
      assert.deepEqual(await listKeys(store, { order: "oldest" }), byBytes);
      assert.deepEqual(await listKeys(store, { order: "newest" }), byBytes.toReversed());
      assert.deepEqual(await listKeys(store, { order: "oldest", after: "a", limit: 2 }), ["b", "é"]);
      assert.deepEqual(await listKeys(store, { order: "newest", after: "b" }), ["a", "C"]);
      assert.deepEqual(await listKeys(store, { order: "oldest", limit: 0 }), []);
    },
  },
  {
    title: "lists by an indexed field as it is now",
    assertHolds: async (store) => {
      const puts = ["a", "b", "c"].map((key) => ({ table: "gate", key, was: null, row: open }) as const);
      await assertLands(store, { puts });
      await assertLands(store, { at: 1, puts: [{ table: "gate", key: "b", was: 1, row: closed }] });
      const where = { field: "status", equals: "open" };
      assert.deepEqual(await listKeys(store, { where, order: "oldest" }), ["a", "c"]);
      assert.deepEqual(await listKeys(store, { where, order: "oldest", after: "a" }), ["c"]);
      assert.deepEqual(await listKeys(store, { where, order: "newest", limit: 1 }), ["c"]);
      assert.deepEqual(await listKeys(store, { where: { field: "run_id", equals: runB }, order: "oldest" }), []);
    },
  },
  {
    title: "lists by a number but not by its text, and finds no null",
    assertHolds: async (store) => {
      const puts = [
        { table: "timer", key: "a", was: "any", row: rowJson({ due_at: 5 }) },
        { table: "timer", key: "b", was: "any", row: rowJson({ due_at: 6 }) },
        { table: "outcome", key: "c", was: "any", row: rowJson({ reuse_key: null, run_id: runA }) },
        { table: "outcome", key: "d", was: "any", row: rowJson({ reuse_key: "same", run_id: runA }) },
      ] as const;
      await assertLands(store, { puts });
      const due = (equals: number | string) => ({ table: "timer", where: { field: "due_at", equals } }) as const;
      const reuse = { table: "outcome", where: { field: "reuse_key", equals: "same" } } as const;
      assert.deepEqual(await listKeys(store, { ...due(6), order: "oldest" }), ["b"]);
      assert.deepEqual(await listKeys(store, { ...due("6"), order: "oldest" }), []);
      assert.deepEqual(await listKeys(store, { ...reuse, order: "oldest" }), ["d"]);
    },
  },
  {
    title: "rejects a list by a field that is not indexed",
    assertHolds: async (store) => {
      await assert.rejects(listKeys(store, { where: { field: "tool", equals: "mail" }, order: "oldest" }));
    },
  },
  {
    title: "returns no runs, rows, tallies or blobs of another tenant",
    assertHolds: async (store) => {
      const hash = "ab".repeat(32) as never;
      const timer = { table: "timer", key: runA, was: "any", row: rowJson({ due_at: 1 }) } as const;
      await assertLands(store, {
        puts: [putGate(null, open), timer],
        charges: [{ tally: "usd", amount: 3, limit: null }],
      });
      await store.putBlob(tenantA, hash, new Uint8Array([1]));
      assert.deepEqual(await store.events(tenantB, runA, 0), []);
      assert.equal(await store.head(tenantB, runA), null);
      assert.equal(await store.row(tenantB, "gate", "g"), null);
      assert.deepEqual(await store.list(tenantB, { table: "gate", order: "oldest", limit: 9 }), []);
      assert.equal(await store.used(tenantB, "usd"), 0);
      assert.equal(await store.blob(tenantB, hash), null);
      await assertLands(store, {
        tenant: tenantB,
        puts: [putGate(null, closed)],
        charges: [{ tally: "usd", amount: 1, limit: 1 }],
      });
      assert.equal((await store.row(tenantA, "gate", "g"))?.row, open);
      assert.equal(await store.used(tenantA, "usd"), 3);
    },
  },
];

function putGate(was: Put["was"], fields: string | null): Put {
  return { table: "gate", key: "g", was, row: fields };
}

async function listKeys(store: Store, query: Partial<Query> & Pick<Query, "order">): Promise<readonly string[]> {
  return (await store.list(tenantA, { table: "gate", limit: 100, ...query })).map(({ key }) => key);
}
