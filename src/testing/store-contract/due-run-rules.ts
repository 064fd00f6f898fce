import assert from "node:assert/strict";
import type { Instant, RunId } from "../../core/values/ids.ts";
import {
  assertLands,
  type ContractRule,
  claimRun,
  rowJson,
  runA,
  runB,
  tenantA,
  tenantB,
  timerJson,
  workerA,
  workerB,
} from "./contract-rule.ts";
import { claimDueRuns, runsOf, setQueuedTimers, setTimers } from "./timer-fixtures.ts";

/** Rules of `claimDue`: which due runs a worker gets, and in which order. */
export const dueRunRules: readonly ContractRule[] = [
  {
    title: "claims the runs whose timer is due, earliest first, up to a limit",
    assertHolds: async (store, clock) => {
      const at = await setTimers(store, clock, { "run-c": 10, "run-a": 20, "run-b": 20, "run-d": 31 });
      clock.advance(30);
      assert.equal(await store.nextDue(), at + 31);
      assert.deepEqual(await claimDueRuns(store, 2), ["run-c", "run-a"]);
      assert.deepEqual(await claimDueRuns(store, 2), ["run-b"]);
      clock.advance(1);
      assert.equal(await store.nextDue(), null);
      assert.deepEqual(await claimDueRuns(store, 2), ["run-d"]);
    },
  },
  {
    title: "claims due runs of every tenant",
    assertHolds: async (store, clock) => {
      await setTimers(store, clock, { [runA]: 2 }, tenantA);
      await setTimers(store, clock, { [runA]: 1 }, tenantB);
      clock.advance(5);
      const claims = await store.claimDue(workerA, 9);
      assert.deepEqual(
        claims.map(({ tenant }) => tenant),
        [tenantB, tenantA],
      );
      assert.ok(claims.every(({ worker, epoch }) => worker === workerA && epoch > 0));
    },
  },
  {
    title: "claims no run that any worker holds, until the lease is released or its worker is lost",
    assertHolds: async (store, clock, loseWorker) => {
      await setTimers(store, clock, { [runA]: 0, [runB]: 0 });
      const claim = await claimRun(store, workerA);
      await claimRun(store, workerB, runB);
      assert.deepEqual(await claimDueRuns(store, 9), []);
      await store.release(claim);
      assert.deepEqual(await claimDueRuns(store, 9), [runA]);
      await loseWorker(workerB);
      assert.ok((await claimDueRuns(store, 9)).includes(runB));
    },
  },
  {
    title: "ends the claim of the former holder when a due run is claimed",
    assertHolds: async (store, clock, loseWorker) => {
      await setTimers(store, clock, { [runA]: 0 });
      const late = await claimRun(store, workerA);
      await loseWorker(workerA);
      const [claim] = await store.claimDue(workerB, 1);
      assert.ok(claim !== undefined && claim.epoch > late.epoch);
      assert.equal((await store.renew(late.worker, [late])).length, 1);
    },
  },
  {
    title: "alternates between tenants: many due runs of one tenant do not delay another",
    assertHolds: async (store, clock) => {
      await setTimers(store, clock, { a: 0, b: 0, c: 0, d: 0, e: 0 }, tenantA);
      await setTimers(store, clock, { y: 7, z: 8 }, tenantB);
      clock.advance(9);
      assert.deepEqual(await claimDueRuns(store, 3), ["a", "y", "b"]);
      assert.deepEqual(await claimDueRuns(store, 9), ["c", "z", "d", "e"]);
    },
  },
  {
    title: "claims the run with the highest priority first within a tenant",
    assertHolds: async (store, clock) => {
      await setQueuedTimers(store, clock, {
        low: { priority: -1 },
        usual: {},
        high: { priority: 9 },
        urgent: { priority: 10 },
      });
      await setTimers(store, clock, { other: 5 }, tenantB);
      clock.advance(9);
      assert.deepEqual(await claimDueRuns(store, 9), ["urgent", "other", "high", "usual", "low"]);
    },
  },
  {
    title: "claims runs of the requested queues, or of all queues if none is requested",
    assertHolds: async (store, clock) => {
      await setQueuedTimers(store, clock, { a: { queue: "mail" }, b: { queue: "print" }, c: {}, d: { queue: "mail" } });
      assert.deepEqual(await claimDueRuns(store, 9, { queues: ["print", "fax"] }), ["b"]);
      assert.deepEqual(await claimDueRuns(store, 9, { queues: ["default"] }), ["c"]);
      assert.deepEqual(await claimDueRuns(store, 1, { queues: [] }), []);
      assert.deepEqual(await claimDueRuns(store, 9), ["a", "d"]);
    },
  },
  {
    title: "uses the queue and the priority of the last timer of a run",
    assertHolds: async (store, clock) => {
      await setQueuedTimers(store, clock, { [runA]: { queue: "mail", priority: 3 }, [runB]: {} });
      const moved = timerJson(clock.now());
      await assertLands(store, { at: 1, puts: [{ table: "timer", key: runA, was: "any", row: moved }] });
      assert.deepEqual(await claimDueRuns(store, 9, { queues: ["mail"] }), []);
      assert.deepEqual(await claimDueRuns(store, 9), [runA, runB].toSorted());
    },
  },
  {
    title: "claims runs of a queue up to its limit over all workers, until a lease ends",
    assertHolds: async (store, clock, loseWorker) => {
      const mail = { queue: "mail" };
      await setQueuedTimers(store, clock, { a: mail, b: mail, c: mail, d: mail, e: {} });
      const terms = { perQueue: { mail: 2 } };
      assert.deepEqual(await claimDueRuns(store, 1, terms), ["a"]);
      assert.deepEqual(await store.claimDue(workerB, 9, terms).then(runsOf), ["b", "e"]);
      assert.deepEqual(await claimDueRuns(store, 9, terms), []);
      const [held] = await store.holdings(tenantA, "", 1);
      assert.ok(held !== undefined);
      await store.release({ tenant: tenantA, run: held.run, worker: held.worker, epoch: held.epoch });
      assert.deepEqual(await claimDueRuns(store, 9, terms), ["a"]);
      await loseWorker(workerA);
      await loseWorker(workerB);
      assert.deepEqual((await claimDueRuns(store, 9, terms)).toSorted(), ["a", "b", "e"]);
      assert.deepEqual(await claimDueRuns(store, 9), ["c", "d"]);
    },
  },
  {
    title: "claims runs of other queues of a tenant while one of its queues is full",
    assertHolds: async (store, clock) => {
      const mail = { queue: "mail", priority: 5 };
      await setQueuedTimers(store, clock, { a: mail, b: mail, c: mail, d: mail, e: {}, f: {} });
      const terms = { perQueue: { mail: 1 } };
      assert.deepEqual(await claimDueRuns(store, 2, terms), ["a", "e"]);
      assert.deepEqual(await claimDueRuns(store, 2, { ...terms, perTenant: 3 }), ["f"]);
    },
  },
  {
    title: "claims runs of other queues of a tenant while one queue is full and no timer is due",
    assertHolds: async (store, clock) => {
      const needs = { due_at: null, needs: ["a@1"] };
      const mail = { queue: "mail", priority: 5, ...needs };
      await setQueuedTimers(store, clock, { a: mail, b: mail, c: mail, e: needs, f: needs });
      const terms = { offers: ["a@1"], perQueue: { mail: 1 } };
      assert.deepEqual(await claimDueRuns(store, 2, terms), ["a", "e"]);
    },
  },
  {
    title: "claims runs of a tenant up to its limit",
    assertHolds: async (store, clock) => {
      await setTimers(store, clock, { a: 0, b: 0, c: 0 }, tenantA);
      await setTimers(store, clock, { y: 0, z: 0 }, tenantB);
      await claimRun(store, workerB, "held" as RunId);
      assert.deepEqual(await claimDueRuns(store, 9, { perTenant: 2 }), ["a", "y", "z"]);
      assert.deepEqual(await claimDueRuns(store, 9, { perTenant: 2 }), []);
      assert.deepEqual(await claimDueRuns(store, 9, { perTenant: 3, queues: ["default"] }), ["b"]);
    },
  },
  {
    title:
      "gives a run with needs to a worker that offers one of them, after due runs, and to any worker when it is due",
    assertHolds: async (store, clock, loseWorker) => {
      const soon = (clock.now() + 10) as Instant;
      await setQueuedTimers(store, clock, {
        mail: { due_at: null, needs: ["a@1", "notice"] },
        fax: { due_at: soon, needs: ["b@1"] },
        plain: {},
      });
      assert.deepEqual(await claimDueRuns(store, 9, { offers: ["c@1"] }), ["plain"]);
      assert.deepEqual(await claimDueRuns(store, 9), []);
      assert.equal(await store.nextDue(), soon);
      assert.deepEqual(await claimDueRuns(store, 9, { offers: ["notice", "b@1"] }), ["fax", "mail"]);
      assert.deepEqual(await claimDueRuns(store, 9, { offers: ["notice", "b@1"] }), []);
      await loseWorker(workerA);
      clock.advance(10);
      assert.deepEqual((await claimDueRuns(store, 9)).toSorted(), ["fax", "plain"]);
      assert.deepEqual(await claimDueRuns(store, 9, { offers: ["a@1"], queues: ["print"] }), []);
      assert.deepEqual(await claimDueRuns(store, 9, { offers: ["a@1"], perTenant: 2 }), []);
      assert.deepEqual(await claimDueRuns(store, 9, { offers: ["a@1"], perTenant: 3 }), ["mail"]);
    },
  },
  {
    title: "replaces and removes the needs of a run",
    assertHolds: async (store, clock) => {
      await setQueuedTimers(store, clock, {
        [runA]: { due_at: null, needs: ["a@1"] },
        [runB]: { due_at: null, needs: ["a@1"] },
      });
      const timer = { table: "timer", key: runA, was: "any" } as const;
      await assertLands(store, { at: 1, puts: [{ ...timer, row: rowJson({ due_at: null, needs: ["b@1"] }) }] });
      await assertLands(store, { run: runB, at: 1, puts: [{ ...timer, key: runB, row: null }] });
      assert.deepEqual(await claimDueRuns(store, 9, { offers: ["a@1"] }), []);
      assert.deepEqual(await claimDueRuns(store, 9, { offers: ["b@1"] }), [runA]);
    },
  },
  {
    title: "ignores a timer that was removed or replaced",
    assertHolds: async (store, clock) => {
      const at = await setTimers(store, clock, { [runA]: 1, [runB]: 1 });
      await assertLands(store, { at: 1, puts: [{ table: "timer", key: runA, was: "any", row: null }] });
      await assertLands(store, {
        run: runB,
        at: 1,
        puts: [{ table: "timer", key: runB, was: "any", row: timerJson(at + 50) }],
      });
      clock.advance(10);
      assert.deepEqual(await claimDueRuns(store, 9), []);
      assert.equal(await store.nextDue(), at + 50);
    },
  },
];
