import assert from "node:assert/strict";
import {
  appendEntry,
  assertLands,
  type ContractRule,
  claimRun,
  contractLeaseMs,
  runA,
  runB,
  stepA,
  tenantA,
  tenantB,
  workerA,
  workerB,
} from "./contract-rule.ts";
import { setQueuedTimers } from "./timer-fixtures.ts";

/** Rules of stores whose leases end by release or eviction, never by time. */
export const evictionRules: readonly ContractRule[] = [
  {
    title: "keeps a lease however much time passes",
    leasesEnd: "by_eviction",
    assertHolds: async (store, clock) => {
      const claim = await claimRun(store, workerA);
      for (const ms of [contractLeaseMs * 100, -contractLeaseMs * 200]) {
        clock.advance(ms);
        assert.equal(await store.claim(workerB, tenantA, runA), null);
      }
      assert.deepEqual(await store.renew(claim.worker, [claim]), []);
      await assertLands(store, { epoch: claim.epoch });
    },
  },
  {
    title: "rejects everything of an evicted worker, even before another worker claims the run",
    leasesEnd: "by_eviction",
    assertHolds: async (store, _clock, loseWorker) => {
      const late = await claimRun(store, workerA);
      await assertLands(store, { epoch: late.epoch });
      await loseWorker(workerA);
      assert.deepEqual(await appendEntry(store, { at: 1, epoch: late.epoch }), { landed: false, why: "epoch" });
      assert.equal(await store.mark(late, stepA, 1), false);
      assert.deepEqual(await store.renew(late.worker, [late]), [late]);
      await store.release(late);
      const next = await claimRun(store, workerB);
      assert.equal(await store.predecessor(next), workerA);
    },
  },
  {
    title: "ends the leases of the evicted worker, of all tenants, and no other",
    leasesEnd: "by_eviction",
    assertHolds: async (store, _clock, loseWorker) => {
      await claimRun(store, workerA);
      await store.claim(workerA, tenantB, runA);
      const kept = await claimRun(store, workerB, runB);
      await loseWorker(workerA);
      await loseWorker(workerA);
      assert.deepEqual(await store.renew(kept.worker, [kept]), []);
      assert.notEqual(await store.claim(workerB, tenantA, runA), null);
      assert.notEqual(await store.claim(workerB, tenantB, runA), null);
    },
  },
  {
    title: "lets an evicted worker claim its runs again, under a greater epoch",
    leasesEnd: "by_eviction",
    assertHolds: async (store, _clock, loseWorker) => {
      const late = await claimRun(store, workerA);
      await loseWorker(workerA);
      const again = await claimRun(store, workerA);
      assert.ok(again.epoch > late.epoch);
      assert.equal(await store.predecessor(again), workerA);
      await assertLands(store, { epoch: again.epoch });
    },
  },
  {
    title: "lists which worker holds which run of a tenant, with its queue and start",
    leasesEnd: "by_eviction",
    assertHolds: async (store, clock, loseWorker) => {
      await setQueuedTimers(store, clock, { [runA]: { queue: "mail" } });
      const since = clock.now();
      await store.claimDue(workerA, 1);
      await claimRun(store, workerB, runB);
      const held = { run: runA, worker: workerA, epoch: 1, queue: "mail", since, until: null };
      const other = { run: runB, worker: workerB, epoch: 1, queue: null, since, until: null };
      assert.deepEqual(await store.holdings(tenantA, "", 9), [held, other]);
      assert.deepEqual(await store.holdings(tenantA, runA, 9), [other]);
      await loseWorker(workerA);
      assert.deepEqual(await store.holdings(tenantA, "", 9), [other]);
    },
  },
];
