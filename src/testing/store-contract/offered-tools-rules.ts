import assert from "node:assert/strict";
import type { Store } from "../../core/store/store.ts";
import type { Digest, WorkerId } from "../../core/values/ids.ts";
import { type ContractRule, runA, runB, workerA, workerB } from "./contract-rule.ts";
import { runsOf, setQueuedTimers } from "./timer-fixtures.ts";

const [ours, theirs, others] = ["ours", "theirs", "others"] as unknown as readonly [Digest, Digest, Digest];
const [mail, print] = ["mail@1:0", "print@1:0"] as const;

/** Lets a worker look for due runs with its rules and offers. */
const claimWith = async (store: Store, worker: WorkerId, rules: Digest, ...offers: readonly string[]) =>
  runsOf(await store.claimDue(worker, 9, { rules, offers }));

/** Registers a worker, or changes what it offers. It claims nothing yet. */
const introduce = async (store: Store, worker: WorkerId, rules: Digest, ...offers: readonly string[]) => {
  await store.registerWorker(worker, { rules, offers });
  await store.claimDue(worker, 0, { rules, offers });
};

/** Rules of due runs whose tools not every worker offers. */
export const offeredToolsRules: readonly ContractRule[] = [
  {
    title: "leaves a due run to a live worker with its rules that offers one of its tools",
    assertHolds: async (store, clock) => {
      await setQueuedTimers(store, clock, {
        [runA]: { rules: ours, tools: [mail, print] },
        [runB]: { rules: ours },
      });
      await introduce(store, workerB, ours, print);
      assert.deepEqual(await claimWith(store, workerA, ours), [runB]);
      assert.deepEqual(await claimWith(store, workerB, ours, print), [runA]);
    },
  },
  {
    title: "claims a due run if it offers one of its tools, although another worker offers more",
    assertHolds: async (store, clock) => {
      await setQueuedTimers(store, clock, { [runA]: { rules: ours, tools: [mail, print] } });
      await introduce(store, workerB, ours, mail, print);
      assert.deepEqual(await claimWith(store, workerA, ours, print), [runA]);
    },
  },
  {
    title: "claims a due run whose tools no live worker offers",
    assertHolds: async (store, clock, loseWorker) => {
      await setQueuedTimers(store, clock, { [runA]: { rules: ours, tools: [mail] } });
      await introduce(store, workerB, ours, mail);
      assert.deepEqual(await claimWith(store, workerA, ours, print), []);
      await store.retireWorker(workerB);
      assert.deepEqual(await claimWith(store, workerA, ours, print), [runA]);
      await loseWorker(workerA);
    },
  },
  {
    title: "claims a due run that a worker stops to offer a tool of, and leaves it when it offers the tool again",
    assertHolds: async (store, clock) => {
      await setQueuedTimers(store, clock, { [runA]: { rules: ours, tools: [mail] } });
      await introduce(store, workerB, ours, mail);
      await introduce(store, workerB, ours, print);
      await introduce(store, workerB, ours, mail);
      assert.deepEqual(await claimWith(store, workerA, ours), []);
      await introduce(store, workerB, ours, print);
      assert.deepEqual(await claimWith(store, workerA, ours), [runA]);
    },
  },
  {
    title: "leaves a due run with its rules to no worker with other rules",
    assertHolds: async (store, clock) => {
      await setQueuedTimers(store, clock, { [runA]: { rules: ours, tools: [mail] } });
      await introduce(store, workerB, theirs, mail);
      assert.deepEqual(await claimWith(store, workerA, ours), [runA]);
    },
  },
  {
    title: "leaves a due run whose rules no worker has to any worker that offers one of its tools",
    assertHolds: async (store, clock) => {
      await setQueuedTimers(store, clock, {
        [runA]: { rules: others, tools: [mail] },
        [runB]: { tools: [mail] },
      });
      await introduce(store, workerB, theirs, mail);
      assert.deepEqual(await claimWith(store, workerA, ours), []);
      assert.deepEqual((await claimWith(store, workerB, theirs, mail)).toSorted(), [runA, runB].toSorted());
    },
  },
];
