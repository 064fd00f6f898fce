import assert from "node:assert/strict";
import { acme, entry, globex, type Law, land, landed, order } from "./law.ts";

export const charging: readonly Law[] = [
  {
    title: "lets a tally reach its limit and refuses what would pass it",
    holds: async (store) => {
      assert.equal(await store.used(acme, "usd"), 0);
      await landed(store, { charges: [{ tally: "usd", amount: 7.5, limit: 10 }] });
      await landed(store, { at: 1, charges: [{ tally: "usd", amount: 2.5, limit: 10 }] });
      const landing = await land(store, { at: 2, charges: [{ tally: "usd", amount: 0.25, limit: 10 }] });
      assert.deepEqual(landing, { landed: false, why: "charge", tally: "usd", used: 10, limit: 10 });
      assert.equal(await store.used(acme, "usd"), 10);
    },
  },
  {
    title: "records without a limit, past any limit, and lets that block the next",
    holds: async (store) => {
      await landed(store, { charges: [{ tally: "usd", amount: 25, limit: null }] });
      const landing = await land(store, { at: 1, charges: [{ tally: "usd", amount: 1, limit: 10 }] });
      assert.ok(!landing.landed && landing.why === "charge" && landing.used === 25);
    },
  },
  {
    title: "takes a charge of nothing as a question: it lands while no more was used",
    holds: async (store) => {
      await landed(store, { charges: [{ tally: "losses", amount: 0, limit: 0 }] });
      await landed(store, { at: 1, charges: [{ tally: "losses", amount: 1, limit: null }] });
      const landing = await land(store, { at: 2, charges: [{ tally: "losses", amount: 0, limit: 0 }] });
      assert.deepEqual(landing, { landed: false, why: "charge", tally: "losses", used: 1, limit: 0 });
      await landed(store, { at: 2, charges: [{ tally: "losses", amount: 0, limit: 1 }] });
      assert.equal(await store.used(acme, "losses"), 1);
    },
  },
  {
    title: "gives back what was reserved and not spent",
    holds: async (store) => {
      await landed(store, { charges: [{ tally: "usd", amount: 10, limit: 10 }] });
      await landed(store, { at: 1, charges: [{ tally: "usd", amount: -4, limit: null }] });
      await landed(store, { at: 2, charges: [{ tally: "usd", amount: 4, limit: 10 }] });
      assert.equal(await store.used(acme, "usd"), 10);
    },
  },
  {
    title: "adds up what one entry charges to the same tally",
    holds: async (store) => {
      const charges = [
        { tally: "usd", amount: 6, limit: 10 },
        { tally: "usd", amount: 5, limit: 10 },
      ];
      const landing = await land(store, { charges });
      assert.deepEqual(landing, { landed: false, why: "charge", tally: "usd", used: 6, limit: 10 });
      assert.equal(await store.used(acme, "usd"), 0);
    },
  },
  {
    title: "adds up what the entries of one call charge",
    holds: async (store) => {
      const charges = [{ tally: "usd", amount: 6, limit: 10 }];
      const [one, two] = await store.append([entry({ charges }), entry({ run: order, charges })]);
      assert.deepEqual(one, { landed: true });
      assert.deepEqual(two, { landed: false, why: "charge", tally: "usd", used: 6, limit: 10 });
      assert.equal(await store.used(acme, "usd"), 6);
    },
  },
  {
    title: "counts what an earlier entry of the same call gave back, and not what a later one will",
    holds: async (store) => {
      await landed(store, { charges: [{ tally: "usd", amount: 10, limit: 10 }] });
      const back = entry({ run: order, charges: [{ tally: "usd", amount: -4, limit: null }] });
      const taking = (run: string) => entry({ run: run as never, charges: [{ tally: "usd", amount: 4, limit: 10 }] });
      const [early, , late] = await store.append([taking("run-early"), back, taking("run-late")]);
      assert.deepEqual(early, { landed: false, why: "charge", tally: "usd", used: 10, limit: 10 });
      assert.deepEqual(late, { landed: true });
      assert.equal(await store.used(acme, "usd"), 10);
    },
  },
  {
    title: "writes nothing of an entry whose charge does not fit, not even what it charges without a limit",
    holds: async (store) => {
      const charges = [
        { tally: "spent", amount: 3, limit: null },
        { tally: "usd", amount: 11, limit: 10 },
      ];
      const landing = await land(store, { charges });
      assert.deepEqual(landing, { landed: false, why: "charge", tally: "usd", used: 0, limit: 10 });
      assert.deepEqual(await store.tallies(acme, "", 9), []);
      assert.equal(await store.head(acme, entry({}).run), null);
    },
  },
  {
    title: "judges each of many that reserve and give back at once by what is there when its turn comes",
    holds: async (store) => {
      const turns = Array.from({ length: 30 }, async (_, turn) => {
        const run = `run-${turn}` as never;
        const taken = await land(store, { run, charges: [{ tally: "usd", amount: 4, limit: 10 }] });
        if (!taken.landed) return 0;
        await landed(store, { run, at: 1, charges: [{ tally: "usd", amount: turn % 2 ? -4 : -1, limit: null }] });
        return turn % 2 ? 0 : 3;
      });
      const kept = (await Promise.all(turns)).reduce<number>((sum, each) => sum + each, 0);
      assert.equal(await store.used(acme, "usd"), kept);
      assert.ok(kept <= 10);
    },
  },
  {
    title: "never overspends when many ask at once",
    holds: async (store) => {
      const asks = Array.from({ length: 20 }, (_, ask) =>
        land(store, { run: `run-${ask}` as never, charges: [{ tally: "usd", amount: 3, limit: 10 }] }),
      );
      const landings = await Promise.all(asks);
      assert.equal(landings.filter((landing) => landing.landed).length, 3);
      assert.equal(await store.used(acme, "usd"), 9);
    },
  },
  {
    title: "lists what each tally of a tenant has come to, in order and part by part",
    holds: async (store) => {
      const charge = (tally: string, amount: number) => ({ tally, amount, limit: null });
      await landed(store, { charges: [charge("usd/b", 3), charge("usd/a", 1), charge("usd/b", 4)] });
      await landed(store, { tenant: globex, charges: [charge("usd/a", 9)] });
      const [a, b] = [
        { tally: "usd/a", used: 1 },
        { tally: "usd/b", used: 7 },
      ];
      assert.deepEqual(await store.tallies(acme, "", 9), [a, b]);
      assert.deepEqual(await store.tallies(acme, "", 1), [a]);
      assert.deepEqual(await store.tallies(acme, "usd/a", 9), [b]);
      assert.deepEqual(await store.tallies(acme, "usd/b", 9), []);
    },
  },
];
