import assert from "node:assert/strict";
import type { Epoch } from "../../core/values/ids.ts";
import {
  appendEntry,
  assertLands,
  type ContractRule,
  claimRun,
  contractLeaseMs,
  rowJson,
  runA,
  runB,
  stepA,
  tenantA,
  workerA,
  workerB,
} from "./contract-rule.ts";

export const fenceRules: readonly ContractRule[] = [
  {
    title: "rejects the late outcome of a worker whose run was claimed again, and writes nothing",
    assertHolds: async (store, _clock, loseWorker) => {
      await assertLands(store, {});
      const late = await claimRun(store, workerA);
      await loseWorker(workerA);
      const now = await claimRun(store, workerB);
      const puts = [{ table: "ledger", key: "key", was: null, row: rowJson({ state: "committed" }) }] as const;
      assert.deepEqual(await appendEntry(store, { at: 1, epoch: late.epoch, puts }), { landed: false, why: "epoch" });
      assert.deepEqual(await appendEntry(store, { at: 1, epoch: late.epoch }), { landed: false, why: "epoch" });
      assert.equal((await store.head(tenantA, runA))?.position, 1);
      assert.equal(await store.row(tenantA, "ledger", "key"), null);
      await assertLands(store, { at: 1, epoch: now.epoch, puts });
    },
  },
  {
    title: "rejects an epoch that no claim has",
    assertHolds: async (store) => {
      assert.deepEqual(await appendEntry(store, { epoch: 0 as Epoch }), { landed: false, why: "epoch" });
      assert.deepEqual(await appendEntry(store, { epoch: 1 as Epoch }), { landed: false, why: "epoch" });
      await assertLands(store, {});
      assert.deepEqual(await appendEntry(store, { at: 1, epoch: 0 as Epoch }), { landed: false, why: "epoch" });
      assert.deepEqual(await appendEntry(store, { at: 1, epoch: 1 as Epoch }), { landed: false, why: "epoch" });
      const { epoch } = await claimRun(store, workerA);
      const ahead = await appendEntry(store, { at: 1, epoch: (epoch + 1) as Epoch });
      assert.deepEqual(ahead, { landed: false, why: "epoch" });
    },
  },
  {
    title: "checks the epoch before the position",
    assertHolds: async (store) => {
      await claimRun(store, workerA);
      const landing = await appendEntry(store, { at: 5, epoch: 9 as Epoch });
      assert.deepEqual(landing, { landed: false, why: "epoch" });
    },
  },
  {
    title: "accepts writes of a claim after its lease expires, until another worker claims the run",
    leasesEnd: "by_time",
    assertHolds: async (store, clock) => {
      const { epoch } = await claimRun(store, workerA);
      await assertLands(store, { epoch });
      clock.advance(contractLeaseMs * 2);
      await assertLands(store, { at: 1, epoch });
    },
  },
  {
    title: "checks the epoch of each run separately",
    assertHolds: async (store) => {
      const { epoch } = await claimRun(store, workerA);
      await claimRun(store, workerA, runB);
      const second = await claimRun(store, workerA, runB);
      assert.deepEqual(await appendEntry(store, { run: runB, epoch }), { landed: false, why: "epoch" });
      await assertLands(store, { run: runB, epoch: second.epoch });
      await assertLands(store, { epoch });
    },
  },
  {
    title: "accepts an entry without an epoch while a worker holds the run",
    assertHolds: async (store) => {
      await assertLands(store, {});
      await claimRun(store, workerA);
      await assertLands(store, { at: 1, epoch: null });
    },
  },
  {
    title: "stores a send marker with its run, step and attempt",
    assertHolds: async (store) => {
      const claim = await claimRun(store, workerA);
      assert.equal(await store.mark(claim, stepA, 2), true);
      const marked = (step: string, attempt: number, run = runA) =>
        store.marked(tenantA, run, step as never, attempt, store.boot);
      assert.equal(await marked("send", 2), "yes");
      // A store with an unknown boot cannot prove that no marker was written.
      const no = store.boot === "unknown" ? "unknown" : "no";
      const others = [
        await marked("send", 1),
        await marked("send", 3),
        await marked("other", 2),
        await marked("send", 2, runB),
      ];
      assert.deepEqual(others, [no, no, no, no]);
    },
  },
  {
    title: "rejects the send marker of a claim with an old epoch",
    assertHolds: async (store, _clock, loseWorker) => {
      const late = await claimRun(store, workerA);
      await loseWorker(workerA);
      await claimRun(store, workerB);
      assert.equal(await store.mark(late, stepA, 1), false);
      assert.notEqual(await store.marked(tenantA, runA, stepA, 1, store.boot), "yes");
    },
  },
  {
    title: "rejects the send marker of a worker that does not hold the run, even with the current epoch",
    assertHolds: async (store) => {
      const claim = await claimRun(store, workerA);
      assert.equal(await store.mark({ ...claim, worker: workerB }, stepA, 1), false);
      assert.notEqual(await store.marked(tenantA, runA, stepA, 1, store.boot), "yes");
    },
  },
  {
    title: "lists the epochs, leases and counted send markers of runs, in pages",
    assertHolds: async (store) => {
      await assertLands(store, {});
      await assertLands(store, { run: runB });
      const first = await claimRun(store, workerA);
      for (const attempt of [1, 2, 2]) await store.mark(first, stepA, attempt);
      await store.release(first);
      const second = await claimRun(store, workerB, runB);
      const marker = { step: stepA, epoch: 1 };
      const released = { run: runA, epoch: 1, lease: null, sent: 2 };
      const listed = [
        { ...released, markers: [1, 2].map((attempt) => ({ ...marker, attempt })) },
        { run: runB, epoch: 1, lease: { worker: second.worker, epoch: 1 }, markers: [], sent: 0 },
      ];
      assert.deepEqual(await store.claims(tenantA, "", 10), listed);
      assert.deepEqual(await store.claims(tenantA, "", 1), listed.slice(0, 1));
      assert.deepEqual(await store.claims(tenantA, runA, 10), listed.slice(1));
    },
  },
  {
    title: "keeps send markers after later attempts, releases and claims, so a missing marker is a proof",
    assertHolds: async (store) => {
      const claim = await claimRun(store, workerA);
      await store.mark(claim, stepA, 1);
      await store.mark(claim, stepA, 2);
      await store.release(claim);
      await claimRun(store, workerB);
      assert.equal(await store.marked(tenantA, runA, stepA, 1, store.boot), "yes");
      assert.equal(await store.marked(tenantA, runA, stepA, 2, store.boot), "yes");
    },
  },
  {
    title: "returns unknown for a marker of another boot",
    assertHolds: async (store) => {
      assert.equal(await store.marked(tenantA, runA, stepA, 1, "the boot before"), "unknown");
    },
  },
];
