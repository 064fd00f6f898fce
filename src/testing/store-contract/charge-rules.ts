import assert from "node:assert/strict";
import { appendEntry, assertLands, buildEntry, type ContractRule, runB, tenantA, tenantB } from "./contract-rule.ts";

export const chargeRules: readonly ContractRule[] = [
  {
    title: "accepts charges up to the limit of a tally and rejects a charge above it",
    assertHolds: async (store) => {
      assert.equal(await store.used(tenantA, "usd"), 0);
      await assertLands(store, { charges: [{ tally: "usd", amount: 7.5, limit: 10 }] });
      await assertLands(store, { at: 1, charges: [{ tally: "usd", amount: 2.5, limit: 10 }] });
      const landing = await appendEntry(store, { at: 2, charges: [{ tally: "usd", amount: 0.25, limit: 10 }] });
      assert.deepEqual(landing, { landed: false, why: "charge", tally: "usd", used: 10, limit: 10 });
      assert.equal(await store.used(tenantA, "usd"), 10);
    },
  },
  {
    title: "accepts a charge without a limit above any limit, and the next limited charge fails",
    assertHolds: async (store) => {
      await assertLands(store, { charges: [{ tally: "usd", amount: 25, limit: null }] });
      const landing = await appendEntry(store, { at: 1, charges: [{ tally: "usd", amount: 1, limit: 10 }] });
      assert.ok(!landing.landed && landing.why === "charge" && landing.used === 25);
    },
  },
  {
    title: "accepts a charge of zero while the tally is within the limit",
    assertHolds: async (store) => {
      await assertLands(store, { charges: [{ tally: "losses", amount: 0, limit: 0 }] });
      await assertLands(store, { at: 1, charges: [{ tally: "losses", amount: 1, limit: null }] });
      const landing = await appendEntry(store, { at: 2, charges: [{ tally: "losses", amount: 0, limit: 0 }] });
      assert.deepEqual(landing, { landed: false, why: "charge", tally: "losses", used: 1, limit: 0 });
      await assertLands(store, { at: 2, charges: [{ tally: "losses", amount: 0, limit: 1 }] });
      assert.equal(await store.used(tenantA, "losses"), 1);
    },
  },
  {
    title: "returns reserved amounts that were not spent",
    assertHolds: async (store) => {
      await assertLands(store, { charges: [{ tally: "usd", amount: 10, limit: 10 }] });
      await assertLands(store, { at: 1, charges: [{ tally: "usd", amount: -4, limit: null }] });
      await assertLands(store, { at: 2, charges: [{ tally: "usd", amount: 4, limit: 10 }] });
      assert.equal(await store.used(tenantA, "usd"), 10);
    },
  },
  {
    title: "adds up the charges of one entry to the same tally",
    assertHolds: async (store) => {
      const charges = [
        { tally: "usd", amount: 6, limit: 10 },
        { tally: "usd", amount: 5, limit: 10 },
      ];
      const landing = await appendEntry(store, { charges });
      assert.deepEqual(landing, { landed: false, why: "charge", tally: "usd", used: 6, limit: 10 });
      assert.equal(await store.used(tenantA, "usd"), 0);
    },
  },
  {
    title: "adds up the charges of all entries of one append",
    assertHolds: async (store) => {
      const charges = [{ tally: "usd", amount: 6, limit: 10 }];
      const [one, two] = await store.append([buildEntry({ charges }), buildEntry({ run: runB, charges })]);
      assert.deepEqual(one, { landed: true });
      assert.deepEqual(two, { landed: false, why: "charge", tally: "usd", used: 6, limit: 10 });
      assert.equal(await store.used(tenantA, "usd"), 6);
    },
  },
  {
    title: "counts amounts that earlier entries of the same append return, but not those of later entries",
    assertHolds: async (store) => {
      await assertLands(store, { charges: [{ tally: "usd", amount: 10, limit: 10 }] });
      const back = buildEntry({ run: runB, charges: [{ tally: "usd", amount: -4, limit: null }] });
      const reserve = (run: string) =>
        buildEntry({ run: run as never, charges: [{ tally: "usd", amount: 4, limit: 10 }] });
      const [early, , late] = await store.append([reserve("run-early"), back, reserve("run-late")]);
      assert.deepEqual(early, { landed: false, why: "charge", tally: "usd", used: 10, limit: 10 });
      assert.deepEqual(late, { landed: true });
      assert.equal(await store.used(tenantA, "usd"), 10);
    },
  },
  {
    title: "writes nothing of an entry with a charge above a limit, not even its charges without a limit",
    assertHolds: async (store) => {
      const charges = [
        { tally: "spent", amount: 3, limit: null },
        { tally: "usd", amount: 11, limit: 10 },
      ];
      const landing = await appendEntry(store, { charges });
      assert.deepEqual(landing, { landed: false, why: "charge", tally: "usd", used: 0, limit: 10 });
      assert.deepEqual(await store.tallies(tenantA, "", 9), []);
      assert.equal(await store.head(tenantA, buildEntry({}).run), null);
    },
  },
  {
    title: "checks concurrent reservations and returns against the current amount of the tally",
    assertHolds: async (store) => {
      const turns = Array.from({ length: 30 }, async (_, turn) => {
        const run = `run-${turn}` as never;
        const reserved = await appendEntry(store, { run, charges: [{ tally: "usd", amount: 4, limit: 10 }] });
        if (!reserved.landed) return 0;
        await assertLands(store, { run, at: 1, charges: [{ tally: "usd", amount: turn % 2 ? -4 : -1, limit: null }] });
        return turn % 2 ? 0 : 3;
      });
      const kept = (await Promise.all(turns)).reduce<number>((sum, each) => sum + each, 0);
      assert.equal(await store.used(tenantA, "usd"), kept);
      assert.ok(kept <= 10);
    },
  },
  {
    title: "never exceeds a limit under concurrent charges",
    assertHolds: async (store) => {
      const appends = Array.from({ length: 20 }, (_, index) =>
        appendEntry(store, { run: `run-${index}` as never, charges: [{ tally: "usd", amount: 3, limit: 10 }] }),
      );
      const landings = await Promise.all(appends);
      assert.equal(landings.filter((landing) => landing.landed).length, 3);
      assert.equal(await store.used(tenantA, "usd"), 9);
    },
  },
  {
    title: "lists the amount of each tally of a tenant, in order and in pages",
    assertHolds: async (store) => {
      const charge = (tally: string, amount: number) => ({ tally, amount, limit: null });
      await assertLands(store, { charges: [charge("usd/b", 3), charge("usd/a", 1), charge("usd/b", 4)] });
      await assertLands(store, { tenant: tenantB, charges: [charge("usd/a", 9)] });
      const [a, b] = [
        { tally: "usd/a", used: 1 },
        { tally: "usd/b", used: 7 },
      ];
      assert.deepEqual(await store.tallies(tenantA, "", 9), [a, b]);
      assert.deepEqual(await store.tallies(tenantA, "", 1), [a]);
      assert.deepEqual(await store.tallies(tenantA, "usd/a", 9), [b]);
      assert.deepEqual(await store.tallies(tenantA, "usd/b", 9), []);
    },
  },
];
