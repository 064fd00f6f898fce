import assert from "node:assert/strict";
import type { Erasure, StoredJournal } from "../../core/store/store.ts";
import type { Digest, RunId } from "../../core/values/ids.ts";
import {
  appendEntry,
  assertLands,
  buildEvent,
  type ContractRule,
  claimRun,
  fakeHash,
  rowJson,
  runA,
  runB,
  stepA,
  tenantA,
  tenantB,
  workerA,
  workerB,
} from "./contract-rule.ts";

const digest = "cd".repeat(32) as Digest;

/** Makes the erasure of a whole run with this number of events. */
function eraseAll(position: number, overrides: Partial<Erasure> = {}): Erasure {
  return { tenant: tenantA, run: runA, position, keep: [], blobs: [], ...overrides };
}

export const eraseRules: readonly ContractRule[] = [
  {
    title: "stores a blob unchanged, also if it is put twice",
    assertHolds: async (store) => {
      const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);
      assert.equal(await store.blob(tenantA, digest), null);
      await store.putBlob(tenantA, digest, bytes);
      await store.putBlob(tenantA, digest, bytes);
      assert.deepEqual([...((await store.blob(tenantA, digest)) ?? [])], [...bytes]);
    },
  },
  {
    title: "stores an empty blob",
    assertHolds: async (store) => {
      await store.putBlob(tenantA, digest, new Uint8Array());
      assert.equal((await store.blob(tenantA, digest))?.length, 0);
    },
  },
  {
    title: "erases bodies, keeps their hashes, and keeps the bodies at the named positions",
    assertHolds: async (store) => {
      await assertLands(store, { events: [buildEvent(1), buildEvent(2), buildEvent(3)] });
      assert.equal(await store.erase(eraseAll(3, { keep: [2] }), fakeHash), 2);
      const kept = await store.events(tenantA, runA, 0);
      assert.deepEqual(
        kept.map(({ body }) => body),
        [null, buildEvent(2).body, null],
      );
      assert.deepEqual([...(kept[0]?.body_hash ?? [])], [...fakeHash(buildEvent(1).body)]);
      assert.equal(kept[1]?.body_hash, null);
      assert.deepEqual(
        kept.map(({ hash }) => [...hash]),
        [1, 2, 3].map((position) => [...buildEvent(position).hash]),
      );
    },
  },
  {
    title: "erases the named blobs of this tenant only",
    assertHolds: async (store) => {
      const other = "ef".repeat(32) as Digest;
      await assertLands(store, { events: [buildEvent(1)] });
      for (const [tenant, hash] of [
        [tenantA, digest],
        [tenantA, other],
        [tenantB, digest],
      ] as const)
        await store.putBlob(tenant, hash, Uint8Array.of(1));
      assert.equal(await store.erase(eraseAll(1, { blobs: [digest] }), fakeHash), 1);
      assert.equal(await store.blob(tenantA, digest), null);
      assert.equal((await store.blob(tenantA, other))?.length, 1);
      assert.equal((await store.blob(tenantB, digest))?.length, 1);
    },
  },
  {
    title: "erases all events of an append that was requested before it, or none",
    assertHolds: async (store) => {
      const [, erased] = await Promise.all([
        assertLands(store, { events: [buildEvent(1), buildEvent(2)] }),
        store.erase(eraseAll(2), fakeHash),
      ]);
      const bodies = (await store.events(tenantA, runA, 0)).map(({ body }) => body);
      assert.deepEqual(bodies, erased === null ? [buildEvent(1).body, buildEvent(2).body] : [null, null]);
    },
  },
  {
    title:
      "keeps epoch and markers of an erased run: a worker that was stopped before writes nothing when it comes back",
    assertHolds: async (store, _clock, loseWorker) => {
      const stopped = await claimRun(store, workerA);
      await assertLands(store, { epoch: stopped.epoch });
      assert.equal(await store.mark(stopped, stepA, 1), true);
      await loseWorker(workerA);
      const later = await claimRun(store, workerB);
      await store.release(later);
      const before = await store.claims(tenantA, "", 1);
      assert.equal(await store.erase(eraseAll(1), fakeHash), 1);
      assert.deepEqual(await store.claims(tenantA, "", 1), before);
      assert.equal(await store.marked(tenantA, runA, stepA, 1, store.boot), "yes");
      const late = { at: 1, epoch: stopped.epoch };
      assert.deepEqual(await appendEntry(store, late), { landed: false, why: "epoch" });
      assert.equal(await store.mark(stopped, stepA, 2), false);
      const next = await claimRun(store, workerA);
      assert.ok(next.epoch > later.epoch && later.epoch > stopped.epoch);
      assert.deepEqual(await appendEntry(store, late), { landed: false, why: "epoch" });
    },
  },
  {
    title: "erases a body once: a second erasure finds nothing to hash",
    assertHolds: async (store) => {
      await assertLands(store, { events: [buildEvent(1), buildEvent(2)] });
      await store.erase(eraseAll(2, { keep: [2] }), fakeHash);
      assert.equal(await store.erase(eraseAll(2, { keep: [2] }), () => new Uint8Array(32)), 0);
      const [first] = await store.events(tenantA, runA, 0);
      assert.deepEqual([...(first?.body_hash ?? [])], [...fakeHash(buildEvent(1).body)]);
    },
  },
  {
    title: "erases nothing if the run has more or fewer events than the erasure expects",
    assertHolds: async (store) => {
      await assertLands(store, { events: [buildEvent(1), buildEvent(2)] });
      await store.putBlob(tenantA, digest, Uint8Array.of(1));
      for (const position of [0, 1, 3])
        assert.equal(await store.erase(eraseAll(position, { blobs: [digest] }), fakeHash), null);
      assert.deepEqual(
        (await store.events(tenantA, runA, 0)).map(({ body }) => body),
        [buildEvent(1).body, buildEvent(2).body],
      );
      assert.equal((await store.blob(tenantA, digest))?.length, 1);
    },
  },
  {
    title: "checks the expected position at the time of the erasure, not of the request",
    assertHolds: async (store) => {
      await assertLands(store, {});
      const [, erased] = await Promise.all([assertLands(store, { at: 1 }), store.erase(eraseAll(1), fakeHash)]);
      const bodies = (await store.events(tenantA, runA, 0)).map(({ body }) => body);
      assert.deepEqual(bodies, [erased === null ? buildEvent(1).body : null, buildEvent(2).body]);
    },
  },
  {
    title: "appends to a run whose bodies are erased",
    assertHolds: async (store) => {
      await assertLands(store, { events: [buildEvent(1), buildEvent(2)] });
      await store.erase(eraseAll(2), fakeHash);
      await assertLands(store, { at: 2 });
      const late = await appendEntry(store, { at: 1 });
      assert.ok(!late.landed && late.why === "position");
      assert.deepEqual([...(late.hash ?? [])], [...buildEvent(2).hash]);
    },
  },
  {
    title: "erases nothing of a run that does not exist",
    assertHolds: async (store) => assert.equal(await store.erase(eraseAll(0), fakeHash), 0),
  },
  {
    title: "lists in order and in pages every run of a tenant that has an event, and no run of another tenant",
    assertHolds: async (store) => {
      const runs = ["run-b", "run-ü", "run-a", "run-a1", "run-😀", "run-～"] as RunId[];
      for (const run of runs) await assertLands(store, { run, events: [buildEvent(1), buildEvent(2)] });
      await assertLands(store, { tenant: tenantB, run: runB });
      const sorted = ["run-a", "run-a1", "run-b", "run-ü", "run-～", "run-😀"];
      assert.deepEqual(await store.runs(tenantA, "", 99), sorted);
      assert.deepEqual(await store.runs(tenantA, "", 2), sorted.slice(0, 2));
      assert.deepEqual(await store.runs(tenantA, "run-a1", 2), sorted.slice(2, 4));
      assert.deepEqual(await store.runs(tenantA, "run-aa", 1), ["run-b"]);
      assert.deepEqual(await store.runs(tenantA, "run-😀", 9), []);
      assert.deepEqual(await store.runs(tenantA, "", 0), []);
    },
  },
  {
    title: "returns whole journals with their heads, in order and in pages, and none of another tenant",
    assertHolds: async (store) => {
      const long = Array.from({ length: 1200 }, (_, index) => buildEvent(index + 1));
      const runs = {
        "run-b": long,
        "run-a": [buildEvent(1)],
        "run-😀": [buildEvent(1), buildEvent(2)],
        "run-～": [buildEvent(1)],
      };
      for (const [run, events] of Object.entries(runs)) await assertLands(store, { run: run as RunId, events });
      await assertLands(store, { tenant: tenantB, run: runB });
      const found: StoredJournal[] = [];
      for (let after = ""; ; ) {
        const part = await store.journals(tenantA, after, 3);
        assert.ok(part.length <= 3);
        found.push(...part);
        const last = part.at(-1);
        if (last === undefined) break;
        after = last.run;
      }
      assert.deepEqual(
        found.map(({ run }) => run),
        ["run-a", "run-b", "run-～", "run-😀"],
      );
      for (const { run, head, events } of found) {
        assert.deepEqual(events, await store.events(tenantA, run, 0));
        assert.deepEqual(head, await store.head(tenantA, run));
      }
      assert.equal(found[1]?.events.length, long.length);
    },
  },
  {
    title: "returns a long journal unchanged, also if its bodies contain line breaks",
    assertHolds: async (store) => {
      const body = (position: number) =>
        position % 100 === 7 ? '{"said":\n"2 0 1 AB step.failed"}' : `{"n":${position}}`;
      const events = Array.from({ length: 700 }, (_, index) => buildEvent(index + 1, body(index + 1)));
      await assertLands(store, { events });
      await assertLands(store, { run: runB, events: [buildEvent(1, '{"said":\n"more"}')] });
      for (const after of [0, 1, 255, 256, 257, 699, 700]) {
        const found = await store.events(tenantA, runA, after);
        assert.deepEqual(
          found.map(({ position, body, hash }) => [position, body, [...hash]]),
          events.slice(after).map(({ position, body, hash }) => [position, body, [...hash]]),
        );
      }
      for (const [after, most] of longReads) {
        const found = await store.events(tenantA, runA, after, most);
        assert.deepEqual(
          found.map(({ position, body }) => [position, body]),
          events.slice(after, after + most).map(({ position, body }) => [position, body]),
        );
      }
      const journals = await store.journals(tenantA, "", 9);
      assert.deepEqual(journals[0]?.events, await store.events(tenantA, journals[0]?.run ?? runA, 0));
      assert.equal((await store.events(tenantA, runB, 0))[0]?.body, '{"said":\n"more"}');
    },
  },
  {
    title: "lists a run independently of its rows, also if its bodies are erased",
    assertHolds: async (store) => {
      await assertLands(store, {
        puts: [{ table: "run", key: runA, was: "any", row: rowJson({ status: "running" }) }],
      });
      await assertLands(store, { at: 1, puts: [{ table: "run", key: runA, was: "any", row: null }] });
      await assertLands(store, { run: runB, puts: [{ table: "run", key: "run-none", was: "any", row: rowJson({}) }] });
      await store.erase(eraseAll(2), fakeHash);
      assert.deepEqual(await store.runs(tenantA, "", 9), [runA, runB]);
    },
  },
  {
    title: "can be watched, and a watch can be stopped twice",
    assertHolds: async (store) => {
      const stop = store.watch(() => {});
      stop();
      stop();
    },
  },
  {
    title: "registers a worker once, however often it is asked to",
    assertHolds: async (store) => {
      await store.registerWorker(workerA);
      await store.registerWorker(workerA);
    },
  },
];

/** Where reads of a long journal begin, and how many events they ask for. */
const longReads = [
  [0, 6],
  [0, 8],
  [1, 255],
  [10, 300],
  [107, 500],
  [250, 256],
  [695, 40],
] as const;
