import assert from "node:assert/strict";
import type { AppendResult, Entry, Store } from "../../core/store/store.ts";
import type { Epoch, Instant, RunId } from "../../core/values/ids.ts";
import {
  appendEntry,
  assertLands,
  buildEntry,
  buildEvent,
  type ContractRule,
  claimRun,
  rowJson,
  runA,
  runB,
  tenantA,
  tenantB,
  workerA,
} from "./contract-rule.ts";

export const appendRules: readonly ContractRule[] = [
  {
    title: "returns the number of events of each of many runs, in the order of the request",
    assertHolds: async (store) => {
      await assertLands(store, { run: runB });
      await assertLands(store, { run: runB, at: 1 });
      await assertLands(store, { tenant: tenantB });
      const held = { worker: workerA, epoch: 1 as Epoch };
      const runs = [
        { tenant: tenantB, run: runA, ...held },
        { tenant: tenantA, run: runB, ...held },
        { tenant: tenantA, run: runA, ...held },
        { tenant: tenantB, run: runB, ...held },
        { tenant: tenantA, run: runB, ...held },
      ];
      const positions = (await store.heldRuns(runs)).map(({ position }) => position);
      assert.deepEqual(positions, [1, 2, 0, 0, 2]);
      assert.deepEqual(await store.heldRuns([]), []);
    },
  },
  {
    title: "writes an entry as a whole: its events, its rows and its charges",
    assertHolds: async (store) => {
      await assertLands(store, {
        events: [buildEvent(1), buildEvent(2)],
        puts: [{ table: "ledger", key: "key", was: null, row: rowJson({ state: "started" }) }],
        charges: [{ tally: "usd", amount: 5, limit: 5 }],
      });
      assert.equal((await store.events(tenantA, runA, 0)).length, 2);
      assert.equal((await store.row(tenantA, "ledger", "key"))?.row, rowJson({ state: "started" }));
      assert.equal(await store.used(tenantA, "usd"), 5);
    },
  },
  {
    title: "returns events oldest first, after a position",
    assertHolds: async (store) => {
      for (let at = 0; at < 12; at++) await assertLands(store, { at });
      const positions = async (after: number) =>
        (await store.events(tenantA, runA, after)).map(({ position }) => position);
      assert.deepEqual(await positions(0), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
      assert.deepEqual(await positions(9), [10, 11, 12]);
      assert.deepEqual(await positions(12), []);
      const [only, ...others] = await store.events(tenantA, runA, 4, 1);
      assert.deepEqual([only?.position, others], [5, []]);
    },
  },
  {
    title: "stores an event unchanged",
    assertHolds: async (store) => {
      const sealed = buildEvent(1, `{"said":"größe \\u0000 \\ud83d 😀 \u2028 'quoted' \\"twice\\""}`);
      await assertLands(store, { events: [sealed] });
      const [kept] = await store.events(tenantA, runA, 0);
      assert.deepEqual(
        { ...kept, hash: [...(kept?.hash ?? [])] },
        { ...sealed, hash: [...sealed.hash], body_hash: null },
      );
    },
  },
  {
    title: "keeps the order of the events of a long entry with mixed types",
    assertHolds: async (store) => {
      const kinds = ["step.started", ...Array<string>(40).fill("step.succeeded"), "run.ended", "step.succeeded"];
      const events = kinds.map((type, index) => ({
        ...buildEvent(index + 1, `{"n":${index}}`),
        type,
        at: (index * 7) as Instant,
      }));
      await assertLands(store, { events: events });
      const kept = await store.events(tenantA, runA, 0);
      assert.deepEqual(
        kept.map((one) => ({ ...one, hash: [...one.hash] })),
        events.map((one) => ({ ...one, hash: [...one.hash], body_hash: null })),
      );
    },
  },
  {
    title: "returns the head of a run, and null for a run without events",
    assertHolds: async (store) => {
      assert.equal(await store.head(tenantA, runA), null);
      await assertLands(store, { events: [buildEvent(1), buildEvent(2)] });
      const head = await store.head(tenantA, runA);
      assert.deepEqual([head?.position, ...(head?.hash ?? [])], [2, ...buildEvent(2).hash]);
    },
  },
  {
    title: "rejects an entry for a new run if the run exists, and returns the stored hash",
    assertHolds: async (store) => {
      await assertLands(store, {});
      const landing = await appendEntry(store, { events: [buildEvent(1, `{"another":"past"}`)] });
      assert.ok(!landing.landed && landing.why === "position" && landing.hash !== null);
      assert.deepEqual([landing.position, ...landing.hash], [1, ...buildEvent(1).hash]);
    },
  },
  {
    title: "returns the stored hash for an entry that is appended again, which proves that it was written",
    assertHolds: async (store) => {
      await assertLands(store, {});
      await assertLands(store, { at: 1, events: [buildEvent(2), buildEvent(3)] });
      const landing = await appendEntry(store, { at: 1, events: [buildEvent(2), buildEvent(3)] });
      assert.ok(!landing.landed && landing.why === "position" && landing.hash !== null);
      assert.deepEqual([landing.position, ...landing.hash], [3, ...buildEvent(2).hash]);
    },
  },
  {
    title: "rejects a position that the run has not reached, without a hash",
    assertHolds: async (store) => {
      await assertLands(store, {});
      assert.deepEqual(await appendEntry(store, { at: 2 }), {
        landed: false,
        why: "position",
        position: 1,
        hash: null,
      });
      assert.deepEqual(await appendEntry(store, { at: 1, run: runB }), {
        landed: false,
        why: "position",
        position: 0,
        hash: null,
      });
    },
  },
  {
    title: "writes an entry with rows only at the expected position",
    assertHolds: async (store) => {
      const puts = [{ table: "setting", key: "stop", was: null, row: rowJson({ on: 1 }) }] as const;
      await assertLands(store, { events: [], puts });
      assert.equal(await store.head(tenantA, runA), null);
      await assertLands(store, {});
      const late = await appendEntry(store, { events: [], puts: [] });
      assert.ok(!late.landed && late.why === "position");
    },
  },
  {
    title: "lets an entry depend on an earlier one of the same append",
    assertHolds: async (store) => {
      const put = (was: number | null) => [{ table: "project", key: "site", was, row: rowJson({ was }) }] as const;
      const entries = [
        buildEntry({ puts: put(null) }),
        buildEntry({ at: 1, puts: put(1) }),
        buildEntry({ at: 2, puts: put(2) }),
      ];
      assert.deepEqual(await store.append(entries), [{ landed: true }, { landed: true }, { landed: true }]);
      assert.deepEqual((await store.row(tenantA, "project", "site"))?.version, 3);
    },
  },
  {
    title: "rejects the later entries of a run whose entry failed, and no entry of another run",
    assertHolds: async (store) => {
      const wrong = buildEntry({ at: 4 });
      const entries = [
        buildEntry(),
        wrong,
        buildEntry({ at: 1 }),
        buildEntry({ run: runB }),
        buildEntry({ tenant: tenantB }),
        buildEntry({ at: 1 }),
      ];
      const answers = (await store.append(entries)).map((landing) => (landing.landed ? "landed" : landing.why));
      assert.deepEqual(answers, ["landed", "position", "earlier", "landed", "landed", "earlier"]);
      assert.equal((await store.head(tenantA, runA))?.position, 1);
    },
  },
  {
    title: "checks each append separately: a failed one does not affect others",
    assertHolds: async (store) => {
      const [wrong, right] = await Promise.all([appendEntry(store, { at: 3 }), appendEntry(store, {})]);
      assert.ok(!wrong.landed && wrong.why === "position");
      assert.deepEqual(right, { landed: true });
    },
  },
  {
    title: "writes exactly one of many entries for the same position",
    assertHolds: async (store) => {
      const appends = Array.from({ length: 8 }, (_, rival) =>
        appendEntry(store, { events: [buildEvent(1, `{"rival":${rival}}`)] }),
      );
      const landings = await Promise.all(appends);
      assert.equal(landings.filter((landing) => landing.landed).length, 1);
      assert.equal((await store.events(tenantA, runA, 0)).length, 1);
    },
  },
  {
    title: "returns an empty result for an empty append",
    assertHolds: async (store) => assert.deepEqual(await store.append([]), []),
  },
  {
    title: "rejects malformed entries: a gap in the positions, a row put twice, a charge that is not a number",
    assertHolds: async (store) => {
      const twice = { table: "gate", key: "g", was: "any", row: rowJson({}) } as const;
      await assert.rejects(appendEntry(store, { events: [buildEvent(2)] }));
      await assert.rejects(appendEntry(store, { puts: [twice, twice] }));
      await assert.rejects(appendEntry(store, { charges: [{ tally: "usd", amount: Number.NaN, limit: 1 }] }));
      assert.equal(await store.head(tenantA, runA), null);
    },
  },
  {
    title: "rejects names that a database would truncate or change, because two names could become equal",
    assertHolds: async (store) => {
      for (const name of ["run\0order", "run\ud800"]) {
        await assert.rejects(appendEntry(store, { run: name as RunId }));
        await assert.rejects(
          appendEntry(store, { puts: [{ table: "gate", key: name, was: "any", row: rowJson({}) }] }),
        );
        await assert.rejects(appendEntry(store, { checks: [{ table: "gate", key: name, was: null }] }));
        await assert.rejects(appendEntry(store, { charges: [{ tally: name, amount: 1, limit: null }] }));
        await assert.rejects(store.row(tenantA, "gate", name));
        await assert.rejects(store.events(tenantA, name as RunId, 0));
      }
    },
  },
  ...failingEntries(),
];

/**
 * One rule per condition that can fail. The run is at position 1, and the entry would also change a row and a tally.
 */
function failingEntries(): readonly ContractRule[] {
  const failures: Readonly<Record<string, Partial<Entry>>> = {
    epoch: { expect: { position: 1, epoch: 7 as never } },
    position: { expect: { position: 0, epoch: null }, events: [buildEvent(1)] },
    "row that must be new": { puts: [putRow("old", null)] },
    "row of another version": { puts: [putRow("old", 9)] },
    "row that is not there": { puts: [putRow("none", 1)] },
    "check of another version": { checks: [{ table: "gate", key: "old", was: 9 }] },
    "check of a row that should be absent": { checks: [{ table: "gate", key: "old", was: null }] },
    "check of a row that should be there": { checks: [{ table: "gate", key: "none", was: 1 }] },
    charge: {
      charges: [
        { tally: "calls", amount: 1, limit: 5 },
        { tally: "usd", amount: 6, limit: 10 },
      ],
    },
  };
  return Object.entries(failures).map(([failure, change]) => ({
    title: `writes nothing of an entry that fails because of its ${failure}`,
    assertHolds: (store) => assertFailsWhole(store, failure, change),
  }));
}

function putRow(key: string, was: number | null) {
  return { table: "gate", key, was, row: rowJson({ status: "changed" }) } as const;
}

async function assertFailsWhole(store: Store, failure: string, change: Partial<Entry>): Promise<void> {
  await assertLands(store, {
    puts: [{ table: "gate", key: "old", was: null, row: rowJson({ status: "open" }) }],
    charges: [{ tally: "usd", amount: 5, limit: null }],
  });
  await claimRun(store, workerA);
  const puts = [putRow("new", null), ...(change.puts ?? [])];
  const charges = change.charges ?? [{ tally: "usd", amount: 1, limit: null }];
  const [landing] = await store.append([{ ...buildEntry({ at: 1 }), ...change, puts, charges }]);
  assert.equal(failureReason(landing), failure.split(" ")[0]);
  assert.equal((await store.events(tenantA, runA, 0)).length, 1);
  assert.equal((await store.head(tenantA, runA))?.position, 1);
  assert.equal(await store.row(tenantA, "gate", "new"), null);
  assert.equal((await store.row(tenantA, "gate", "old"))?.row, rowJson({ status: "open" }));
  assert.deepEqual([await store.used(tenantA, "usd"), await store.used(tenantA, "calls")], [5, 0]);
}

function failureReason(landing: AppendResult | undefined): string | undefined {
  return landing?.landed === false ? landing.why : undefined;
}
