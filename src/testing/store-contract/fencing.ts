import assert from "node:assert/strict";
import type { Epoch } from "../../core/id.ts";
import { acme, ana, bob, claimed, hire, type Law, land, landed, leaseMs, order, row, send } from "./law.ts";

export const fencing: readonly Law[] = [
  {
    title: "refuses the late outcome of a worker whose run was claimed again, and writes nothing of it",
    holds: async (store, clock) => {
      await landed(store, {});
      const late = await claimed(store, ana);
      clock.advance(leaseMs);
      const now = await claimed(store, bob);
      const puts = [{ table: "ledger", key: "key", was: null, row: row({ state: "committed" }) }] as const;
      assert.deepEqual(await land(store, { at: 1, epoch: late.epoch, puts }), { landed: false, why: "epoch" });
      assert.deepEqual(await land(store, { at: 1, epoch: late.epoch }), { landed: false, why: "epoch" });
      assert.equal((await store.head(acme, hire))?.position, 1);
      assert.equal(await store.row(acme, "ledger", "key"), null);
      await landed(store, { at: 1, epoch: now.epoch, puts });
    },
  },
  {
    title: "refuses an epoch that was never given out",
    holds: async (store) => {
      assert.deepEqual(await land(store, { epoch: 0 as Epoch }), { landed: false, why: "epoch" });
      assert.deepEqual(await land(store, { epoch: 1 as Epoch }), { landed: false, why: "epoch" });
      await landed(store, {});
      assert.deepEqual(await land(store, { at: 1, epoch: 0 as Epoch }), { landed: false, why: "epoch" });
      assert.deepEqual(await land(store, { at: 1, epoch: 1 as Epoch }), { landed: false, why: "epoch" });
      const { epoch } = await claimed(store, ana);
      const ahead = await land(store, { at: 1, epoch: (epoch + 1) as Epoch });
      assert.deepEqual(ahead, { landed: false, why: "epoch" });
    },
  },
  {
    title: "judges the epoch before the position",
    holds: async (store) => {
      await claimed(store, ana);
      const landing = await land(store, { at: 5, epoch: 9 as Epoch });
      assert.deepEqual(landing, { landed: false, why: "epoch" });
    },
  },
  {
    title: "lets a claim write until someone else has the run, even when its lease is over",
    holds: async (store, clock) => {
      const { epoch } = await claimed(store, ana);
      await landed(store, { epoch });
      clock.advance(leaseMs * 2);
      await landed(store, { at: 1, epoch });
    },
  },
  {
    title: "fences each run by its own epoch",
    holds: async (store) => {
      const { epoch } = await claimed(store, ana);
      await claimed(store, ana, order);
      const second = await claimed(store, ana, order);
      assert.deepEqual(await land(store, { run: order, epoch }), { landed: false, why: "epoch" });
      await landed(store, { run: order, epoch: second.epoch });
      await landed(store, { epoch });
    },
  },
  {
    title: "takes a command from outside, whoever holds the run",
    holds: async (store) => {
      await landed(store, {});
      await claimed(store, ana);
      await landed(store, { at: 1, epoch: null });
    },
  },
  {
    title: "writes a send marker, and knows which attempt it was for",
    holds: async (store) => {
      const claim = await claimed(store, ana);
      assert.equal(await store.mark(claim, send, 2), true);
      const marked = (step: string, attempt: number, run = hire) =>
        store.marked(acme, run, step as never, attempt, store.boot);
      assert.equal(await marked("send", 2), "yes");
      // Where a missing marker proves nothing, a store may only say so.
      const no = store.boot === "unknown" ? "unknown" : "no";
      const others = [
        await marked("send", 1),
        await marked("send", 3),
        await marked("other", 2),
        await marked("send", 2, order),
      ];
      assert.deepEqual(others, [no, no, no, no]);
    },
  },
  {
    title: "refuses the send marker of a claim whose epoch has moved, and does not write it",
    holds: async (store, clock) => {
      const late = await claimed(store, ana);
      clock.advance(leaseMs);
      await claimed(store, bob);
      assert.equal(await store.mark(late, send, 1), false);
      assert.notEqual(await store.marked(acme, hire, send, 1, store.boot), "yes");
    },
  },
  {
    title: "keeps send markers through later attempts, releases and claims: a missing one is a proof",
    holds: async (store) => {
      const claim = await claimed(store, ana);
      await store.mark(claim, send, 1);
      await store.mark(claim, send, 2);
      await store.release(claim);
      await claimed(store, bob);
      assert.equal(await store.marked(acme, hire, send, 1, store.boot), "yes");
      assert.equal(await store.marked(acme, hire, send, 2, store.boot), "yes");
    },
  },
  {
    title: "cannot tell whether a marker was written under another boot",
    holds: async (store) => {
      assert.equal(await store.marked(acme, hire, send, 1, "the boot before"), "unknown");
    },
  },
];
