import assert from "node:assert/strict";
import type { Digest } from "../../core/values/ids.ts";
import {
  appendEntry,
  assertLands,
  type ContractRule,
  claimRun,
  contractLeaseMs,
  runA,
  runB,
  tenantA,
  tenantB,
  workerA,
  workerB,
} from "./contract-rule.ts";
import { setQueuedTimers } from "./timer-fixtures.ts";

const [ours, theirs] = ["ours", "theirs"] as unknown as readonly [Digest, Digest];
const workerC = "w-c" as typeof workerA;

/** Rules of requests for runs that other workers hold, and of the list of workers. */
export const runHandoverRules: readonly ContractRule[] = [
  {
    title: "gives a released run to the worker that asks for it, and to no other",
    assertHolds: async (store, clock) => {
      await setQueuedTimers(store, clock, { [runA]: {} });
      const held = await claimRun(store, workerA);
      assert.deepEqual(await store.heldRuns([held]), [{ position: 1, wanted: false }]);
      assert.equal(await store.ask(workerB, tenantA, runA), true);
      assert.deepEqual(await store.heldRuns([held]), [{ position: 1, wanted: true }]);
      assert.equal(await store.claim(workerB, tenantA, runA), null);
      await assertLands(store, { at: 1, epoch: held.epoch });
      await store.release(held);
      assert.equal(await store.claim(workerC, tenantA, runA), null);
      assert.deepEqual(await store.claimDue(workerC, 9), []);
      const next = await claimRun(store, workerB);
      assert.ok(next.epoch > held.epoch);
      assert.deepEqual(await store.heldRuns([next]), [{ position: 2, wanted: false }]);
      await store.release(next);
      await claimRun(store, workerC);
    },
  },
  {
    title: "rejects what the former holder of a handed over run writes late",
    assertHolds: async (store) => {
      const held = await claimRun(store, workerA);
      await store.ask(workerB, tenantA, runA);
      await store.release(held);
      assert.equal(await store.mark(held, "step" as never, 1), false);
      const next = await claimRun(store, workerB);
      assert.deepEqual(await appendEntry(store, { epoch: held.epoch }), { landed: false, why: "epoch" });
      assert.deepEqual(await store.renew(workerA, [held]), [held]);
      await store.release(held);
      assert.deepEqual(await store.renew(workerB, [next]), []);
      assert.notEqual(await store.predecessor(next), workerA);
    },
  },
  {
    title: "counts the latest request, and none that was withdrawn or that the holder makes",
    assertHolds: async (store) => {
      assert.equal(await store.ask(workerA, tenantA, runA), false);
      const held = await claimRun(store, workerA);
      assert.equal(await store.ask(workerA, tenantA, runA), false);
      assert.equal(await store.ask(workerB, tenantB, runA), false);
      await store.ask(workerB, tenantA, runA);
      await store.ask(workerC, tenantA, runA);
      await store.withdrawAsk(workerB, tenantA, runA);
      assert.deepEqual(await store.heldRuns([held]), [{ position: 0, wanted: true }]);
      await store.withdrawAsk(workerC, tenantA, runA);
      assert.deepEqual(await store.heldRuns([held]), [{ position: 0, wanted: false }]);
      await store.release(held);
      await claimRun(store, workerA);
    },
  },
  {
    title: "forgets the request of a worker that is gone",
    assertHolds: async (store, clock, loseWorker) => {
      const held = await claimRun(store, workerA);
      await store.ask(workerB, tenantA, runA);
      await loseWorker(workerB);
      await store.renew(workerA, [held]);
      assert.deepEqual(await store.heldRuns([held]), [{ position: 0, wanted: false }]);
      await store.release(held);
      const next = await claimRun(store, workerC);
      await store.ask(workerB, tenantA, runA);
      await store.release(next);
      await loseWorker(workerB);
      clock.advance(contractLeaseMs);
      await claimRun(store, workerA);
    },
  },
  {
    title: "lists the workers with their rules and offers, until they retire or are gone",
    assertHolds: async (store, _clock, loseWorker) => {
      await store.registerWorker(workerA, { rules: ours, offers: ["mail@1"] });
      await store.claimDue(workerB, 9, { rules: theirs, offers: ["fax@1", "page@2"] });
      const list = async () => (await store.workers()).map(({ worker, rules, offers }) => [worker, rules, offers]);
      const [first] = await store.workers();
      assert.equal(typeof first?.process.version, "string");
      assert.equal(first?.process.pid, process.pid);
      assert.deepEqual((await list())[0], [workerA, ours, ["mail@1"]]);
      await store.retireWorker(workerA);
      assert.deepEqual((await list())[0], [workerA, null, []]);
      await loseWorker(workerA);
      assert.equal((await list()).filter(([worker]) => worker === workerA).length, 0);
    },
  },
  {
    title: "leaves due runs to a live worker that has their rules, until it retires",
    assertHolds: async (store, clock) => {
      await store.registerWorker(workerA, { rules: ours });
      await store.registerWorker(workerB, { rules: theirs });
      await setQueuedTimers(store, clock, { [runA]: { rules: ours }, [runB]: {} });
      const runs = async () => (await store.claimDue(workerB, 9, { rules: theirs })).map(({ run }) => run);
      assert.deepEqual(await runs(), [runB]);
      await store.retireWorker(workerA);
      assert.deepEqual(await runs(), [runA]);
    },
  },
];
