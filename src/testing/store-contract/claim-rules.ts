import assert from "node:assert/strict";
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
  timerJson,
  workerA,
  workerB,
} from "./contract-rule.ts";
import { setQueuedTimers, setTimers } from "./timer-fixtures.ts";

export const claimRules: readonly ContractRule[] = [
  {
    title: "states how long a lease lasts without renewal",
    assertHolds: async (store) => assert.equal(store.leaseMs, contractLeaseMs),
  },
  {
    title: "gives every claim a greater epoch, also for the same worker and after a release",
    assertHolds: async (store) => {
      const first = await claimRun(store, workerA);
      const second = await claimRun(store, workerA);
      await store.release(second);
      const third = await claimRun(store, workerB);
      assert.deepEqual({ ...second }, { tenant: tenantA, run: runA, worker: workerA, epoch: second.epoch });
      assert.ok(first.epoch > 0 && second.epoch > first.epoch && third.epoch > second.epoch);
    },
  },
  {
    title: "rejects a claim on a run that another worker holds, until the lease expires",
    leasesEnd: "by_time",
    assertHolds: async (store, clock) => {
      await claimRun(store, workerA);
      clock.advance(contractLeaseMs - 1);
      assert.equal(await store.claim(workerB, tenantA, runA), null);
      clock.advance(1);
      await claimRun(store, workerB);
    },
  },
  {
    title: "gives a run to exactly one of many workers that claim it at once",
    assertHolds: async (store) => {
      const workers = ["w1", "w2", "w3", "w4", "w5"];
      const claims = await Promise.all(workers.map((worker) => store.claim(worker as never, tenantA, runA)));
      assert.equal(claims.filter((claim) => claim !== null).length, 1);
    },
  },
  {
    title: "accepts a claim on a run while its first entry is being written",
    assertHolds: async (store, clock) => {
      const timer = { table: "timer", key: runA, was: "any", row: timerJson(clock.now()) } as const;
      const beginning = assertLands(store, { puts: [timer] });
      const [claim] = await Promise.all([store.claim(workerA, tenantA, runA), beginning]);
      assert.deepEqual({ ...claim }, { tenant: tenantA, run: runA, worker: workerA, epoch: 1 });
      assert.equal(await store.claim(workerB, tenantA, runA), null);
      assert.deepEqual(await store.claimDue(workerB, 9), []);
      await assertLands(store, { at: 1, epoch: claim?.epoch ?? null });
      const [holding] = await store.holdings(tenantA, "", 9);
      assert.equal(holding?.since, clock.now());
    },
  },
  {
    title: "gives a greater epoch to a claim that is made while a later entry is being written",
    assertHolds: async (store) => {
      const first = await claimRun(store, workerA);
      const [landing, second] = await Promise.all([appendEntry(store, {}), store.claim(workerA, tenantA, runA)]);
      assert.deepEqual(landing, { landed: true });
      await store.release(second ?? first);
      const [late, third] = await Promise.all([appendEntry(store, {}), store.claim(workerB, tenantA, runA)]);
      assert.equal(late.landed, false);
      assert.ok(first.epoch < Number(second?.epoch) && Number(second?.epoch) < Number(third?.epoch));
    },
  },
  {
    title: "keeps runs with the same id in two tenants separate",
    assertHolds: async (store) => {
      await claimRun(store, workerA);
      assert.notEqual(await store.claim(workerB, tenantB, runA), null);
      assert.equal(await store.claim(workerB, tenantA, runA), null);
    },
  },
  {
    title: "extends a renewed lease, and returns the claims that are lost",
    leasesEnd: "by_time",
    assertHolds: async (store, clock) => {
      const held = await claimRun(store, workerA);
      const lost = await claimRun(store, workerA, runB);
      clock.advance(contractLeaseMs - 1);
      assert.deepEqual(await store.renew(held.worker, [held]), []);
      clock.advance(contractLeaseMs - 1);
      assert.equal(await store.claim(workerB, tenantA, runA), null);
      await claimRun(store, workerB, runB);
      const answer = await store.renew(held.worker, [held, lost]);
      assert.deepEqual(
        answer.map(({ run }) => run),
        [runB],
      );
      assert.equal(await store.claim(workerA, tenantA, runB), null);
    },
  },
  {
    title: "renews an expired lease if no other worker has claimed the run",
    leasesEnd: "by_time",
    assertHolds: async (store, clock) => {
      const claim = await claimRun(store, workerA);
      clock.advance(contractLeaseMs * 3);
      assert.deepEqual(await store.renew(claim.worker, [claim]), []);
      assert.equal(await store.claim(workerB, tenantA, runA), null);
    },
  },
  {
    title: "returns the worker that lost a run, and none for a run that was released",
    assertHolds: async (store, clock, loseWorker) => {
      await setTimers(store, clock, { [runA]: 0, [runB]: 0 });
      const first = await claimRun(store, workerA);
      assert.equal(await store.predecessor(first), null);
      await loseWorker(workerA);
      const second = await claimRun(store, workerB);
      assert.deepEqual(await store.renew(second.worker, [second]), []);
      assert.equal(await store.predecessor(second), workerA);
      assert.equal(await store.predecessor(first), null);
      const again = await claimRun(store, workerB);
      assert.equal(await store.predecessor(again), workerB);
      await store.release(again);
      const third = await claimRun(store, workerA);
      assert.equal(await store.predecessor(third), null);
      await loseWorker(workerA);
      const due = await store.claimDue(workerB, 9);
      const from = await Promise.all(due.map((claim) => store.predecessor(claim)));
      assert.deepEqual(Object.fromEntries(due.map(({ run }, at) => [run, from[at]])), {
        [runA]: workerA,
        [runB]: null,
      });
    },
  },
  {
    title: "counts a released claim as lost",
    assertHolds: async (store) => {
      const claim = await claimRun(store, workerA);
      await store.release(claim);
      assert.equal((await store.renew(claim.worker, [claim])).length, 1);
      await claimRun(store, workerB);
    },
  },
  {
    title: "ignores the release of a claim with an old epoch",
    assertHolds: async (store) => {
      const first = await claimRun(store, workerA);
      await claimRun(store, workerA);
      await store.release(first);
      assert.equal(await store.claim(workerB, tenantA, runA), null);
    },
  },
  {
    title: "lists which worker holds which run of a tenant, with its queue, start and end of the lease",
    leasesEnd: "by_time",
    assertHolds: async (store, clock) => {
      await setQueuedTimers(store, clock, { [runA]: { queue: "mail" } });
      const first = clock.now();
      await store.claimDue(workerA, 1);
      clock.advance(5);
      const claim = await claimRun(store, workerB, runB);
      await store.claim(workerA, tenantB, runA);
      const held = {
        run: runA,
        worker: workerA,
        epoch: 1,
        queue: "mail",
        since: first,
        until: first + contractLeaseMs,
      };
      const other = {
        run: runB,
        worker: workerB,
        epoch: 1,
        queue: null,
        since: first + 5,
        until: first + 5 + contractLeaseMs,
      };
      assert.deepEqual(await store.holdings(tenantA, "", 9), [held, other]);
      assert.deepEqual(await store.holdings(tenantA, "", 1), [held]);
      assert.deepEqual(await store.holdings(tenantA, runA, 9), [other]);
      clock.advance(contractLeaseMs - 5);
      await store.renew(claim.worker, [claim]);
      assert.deepEqual(await store.holdings(tenantA, "", 9), [{ ...other, until: clock.now() + contractLeaseMs }]);
      await store.release(claim);
      assert.deepEqual(await store.holdings(tenantA, "", 9), []);
    },
  },
];
