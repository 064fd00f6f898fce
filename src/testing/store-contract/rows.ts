import assert from "node:assert/strict";
import type { Table } from "../../core/rows.ts";
import { house, type Put, type Query, type Store } from "../../core/store.ts";
import { acme, entry, globex, hire, type Law, land, landed, order, row } from "./law.ts";

const open = row({ status: "open", run_id: hire });
const closed = row({ status: "closed", run_id: hire });

export const rows: readonly Law[] = [
  {
    title: "gives a new row version 1 and counts up with each change",
    holds: async (store) => {
      await landed(store, { puts: [gate(null, open)] });
      assert.deepEqual({ ...(await store.row(acme, "gate", "g")) }, { key: "g", version: 1, row: open });
      await landed(store, { at: 1, puts: [gate(1, closed)] });
      assert.deepEqual({ ...(await store.row(acme, "gate", "g")) }, { key: "g", version: 2, row: closed });
    },
  },
  {
    title: "refuses a row that must be new and shows the one that won",
    holds: async (store) => {
      await landed(store, { puts: [gate(null, open)] });
      const landing = await land(store, { run: order, puts: [gate(null, closed)] });
      assert.ok(!landing.landed && landing.why === "row");
      assert.deepEqual([landing.table, landing.key], ["gate", "g"]);
      assert.deepEqual({ ...landing.found }, { key: "g", version: 1, row: open });
    },
  },
  {
    title: "refuses a row of another version and says when there is none",
    holds: async (store) => {
      const landing = await land(store, { puts: [gate(1, closed)] });
      assert.deepEqual(landing, { landed: false, why: "row", table: "gate", key: "g", found: null });
    },
  },
  {
    title: "writes a read-model row blindly, as version 0, over whatever is there",
    holds: async (store) => {
      await landed(store, { puts: [gate("any", open)] });
      assert.equal((await store.row(acme, "gate", "g"))?.version, 0);
      await landed(store, { at: 1, puts: [gate(0, open)] });
      await landed(store, { at: 2, puts: [gate("any", closed)] });
      assert.deepEqual({ ...(await store.row(acme, "gate", "g")) }, { key: "g", version: 0, row: closed });
    },
  },
  {
    title: "removes a row, on a condition or blindly, and lets it be new again",
    holds: async (store) => {
      await landed(store, { puts: [gate(null, open)] });
      const stale = await land(store, { at: 1, puts: [gate(2, null)] });
      assert.ok(!stale.landed && stale.why === "row");
      await landed(store, { at: 1, puts: [gate(1, null)] });
      assert.equal(await store.row(acme, "gate", "g"), null);
      await landed(store, { at: 2, puts: [gate(null, open)] });
      await landed(store, { at: 3, puts: [gate("any", null)] });
      await landed(store, { at: 4, puts: [gate("any", null)] });
      assert.equal(await store.row(acme, "gate", "g"), null);
    },
  },
  {
    title: "checks a row without changing it",
    holds: async (store) => {
      await landed(store, { puts: [gate(null, open)] });
      const checks = [
        { table: "gate", key: "g", was: 1 },
        { table: "gate", key: "none", was: null },
      ] as const;
      await landed(store, { run: order, checks });
      assert.equal((await store.row(acme, "gate", "g"))?.version, 1);
      const landing = await land(store, { run: order, at: 1, checks: [{ table: "gate", key: "g", was: 4 }] });
      assert.ok(!landing.landed && landing.why === "check");
      assert.deepEqual({ ...landing.found }, { key: "g", version: 1, row: open });
    },
  },
  {
    title: "judges rows before checks and checks before charges",
    holds: async (store) => {
      const charges = [{ tally: "usd", amount: 2, limit: 1 }];
      const checks = [{ table: "gate", key: "none", was: 1 }] as const;
      const all = await land(store, { puts: [gate(1, open)], checks, charges });
      const two = await land(store, { checks, charges });
      assert.deepEqual([!all.landed && all.why, !two.landed && two.why], ["row", "check"]);
    },
  },
  {
    title: "glances at a row of the tenant as it is when the entry is judged",
    holds: async (store) => {
      const glance = (was: number | null) => [{ table: "gate", key: "g", was, glance: "own" }] as const;
      await landed(store, { checks: glance(null) });
      await landed(store, { run: order, puts: [gate(null, open)] });
      for (const at of [1, 2]) {
        const late = await land(store, { at, checks: glance(null) });
        assert.ok(!late.landed && late.why === "check" && late.table === "gate" && late.key === "g");
        await landed(store, { at, checks: glance(1) });
      }
      assert.equal((await store.head(acme, hire))?.position, 3);
    },
  },
  {
    title: "glances at a row of the house for every tenant",
    holds: async (store) => {
      const glance = (was: number | null) => [{ table: "gate", key: "g", was, glance: "house" }] as const;
      for (const tenant of [acme, globex]) await landed(store, { tenant, checks: glance(null) });
      await landed(store, { tenant: house, puts: [gate(null, open)] });
      for (const tenant of [acme, globex]) {
        const late = await land(store, { tenant, at: 1, checks: glance(null) });
        assert.ok(!late.landed && late.why === "check" && late.key === "g");
        assert.equal(await store.row(tenant, "gate", "g"), null);
        await landed(store, { tenant, at: 1, checks: glance(1) });
      }
    },
  },
  {
    title: "judges a glance after epoch, position and rows, and of many entries each by its own",
    holds: async (store) => {
      const old = [{ table: "gate", key: "g", was: 7, glance: "own" }] as const;
      const none = [{ table: "gate", key: "g", was: null, glance: "house" }] as const;
      await landed(store, {});
      const moved = await land(store, { at: 4, checks: old });
      const row = await land(store, { at: 1, checks: old, puts: [gate(3, open)] });
      assert.deepEqual([!moved.landed && moved.why, !row.landed && row.why], ["position", "row"]);
      const entries = [entry({ at: 1, checks: none }), entry({ run: order, checks: old })];
      const [first, second] = await store.append(entries);
      assert.ok(first?.landed && second?.landed === false && second.why === "check");
    },
  },
  {
    title: "keeps the same key apart in every table",
    holds: async (store) => {
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
      await landed(store, { puts: tables.map((table) => ({ table, key: "k", was: null, row: row({ table }) })) });
      for (const table of tables) assert.equal((await store.row(acme, table, "k"))?.row, row({ table }));
      assert.equal(await store.row(acme, "gate", "k"), null);
    },
  },
  {
    title: "lists by key in the asked order, after a key, up to a limit",
    holds: async (store) => {
      const keys = ["b", "é", "a", "😀", "C", "\uff5e"];
      await landed(store, { puts: keys.map((key) => ({ table: "gate", key, was: "any", row: open })) });
      const byBytes = ["C", "a", "b", "é", "\uff5e", "😀"];
      assert.deepEqual(await listed(store, { order: "oldest" }), byBytes);
      assert.deepEqual(await listed(store, { order: "newest" }), byBytes.toReversed());
      assert.deepEqual(await listed(store, { order: "oldest", after: "a", limit: 2 }), ["b", "é"]);
      assert.deepEqual(await listed(store, { order: "newest", after: "b" }), ["a", "C"]);
      assert.deepEqual(await listed(store, { order: "oldest", limit: 0 }), []);
    },
  },
  {
    title: "lists by an indexed field as it is now",
    holds: async (store) => {
      const puts = ["a", "b", "c"].map((key) => ({ table: "gate", key, was: null, row: open }) as const);
      await landed(store, { puts });
      await landed(store, { at: 1, puts: [{ table: "gate", key: "b", was: 1, row: closed }] });
      const where = { field: "status", equals: "open" };
      assert.deepEqual(await listed(store, { where, order: "oldest" }), ["a", "c"]);
      assert.deepEqual(await listed(store, { where, order: "oldest", after: "a" }), ["c"]);
      assert.deepEqual(await listed(store, { where, order: "newest", limit: 1 }), ["c"]);
      assert.deepEqual(await listed(store, { where: { field: "run_id", equals: order }, order: "oldest" }), []);
    },
  },
  {
    title: "lists by a number and never by its digits, and finds no null",
    holds: async (store) => {
      const puts = [
        { table: "timer", key: "a", was: "any", row: row({ due_at: 5 }) },
        { table: "timer", key: "b", was: "any", row: row({ due_at: 6 }) },
        { table: "outcome", key: "c", was: "any", row: row({ reuse_key: null, run_id: hire }) },
        { table: "outcome", key: "d", was: "any", row: row({ reuse_key: "same", run_id: hire }) },
      ] as const;
      await landed(store, { puts });
      const due = (equals: number | string) => ({ table: "timer", where: { field: "due_at", equals } }) as const;
      const reuse = { table: "outcome", where: { field: "reuse_key", equals: "same" } } as const;
      assert.deepEqual(await listed(store, { ...due(6), order: "oldest" }), ["b"]);
      assert.deepEqual(await listed(store, { ...due("6"), order: "oldest" }), []);
      assert.deepEqual(await listed(store, { ...reuse, order: "oldest" }), ["d"]);
    },
  },
  {
    title: "rejects a list by a field that is not indexed",
    holds: async (store) => {
      await assert.rejects(listed(store, { where: { field: "tool", equals: "mail" }, order: "oldest" }));
    },
  },
  {
    title: "shows no tenant the runs, rows, tallies or blobs of another",
    holds: async (store) => {
      const hash = "ab".repeat(32) as never;
      const timer = { table: "timer", key: hire, was: "any", row: row({ due_at: 1 }) } as const;
      await landed(store, { puts: [gate(null, open), timer], charges: [{ tally: "usd", amount: 3, limit: null }] });
      await store.putBlob(acme, hash, new Uint8Array([1]));
      assert.deepEqual(await store.events(globex, hire, 0), []);
      assert.equal(await store.head(globex, hire), null);
      assert.equal(await store.row(globex, "gate", "g"), null);
      assert.deepEqual(await store.list(globex, { table: "gate", order: "oldest", limit: 9 }), []);
      assert.equal(await store.used(globex, "usd"), 0);
      assert.equal(await store.blob(globex, hash), null);
      await landed(store, {
        tenant: globex,
        puts: [gate(null, closed)],
        charges: [{ tally: "usd", amount: 1, limit: 1 }],
      });
      assert.equal((await store.row(acme, "gate", "g"))?.row, open);
      assert.equal(await store.used(acme, "usd"), 3);
    },
  },
];

function gate(was: Put["was"], fields: string | null): Put {
  return { table: "gate", key: "g", was, row: fields };
}

async function listed(store: Store, query: Partial<Query> & Pick<Query, "order">): Promise<readonly string[]> {
  return (await store.list(acme, { table: "gate", limit: 100, ...query })).map(({ key }) => key);
}
