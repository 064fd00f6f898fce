import assert from "node:assert/strict";
import type { Digest, RunId } from "../../core/id.ts";
import type { Erasure, StoredJournal } from "../../core/store.ts";
import { acme, event, globex, hashOf, hire, type Law, land, landed, order, row } from "./law.ts";

const digest = "cd".repeat(32) as Digest;

/** Everything of a run that has so many events, unless wished otherwise. */
function all(position: number, wish: Partial<Erasure> = {}): Erasure {
  return { tenant: acme, run: hire, position, keep: [], blobs: [], ...wish };
}

export const keeping: readonly Law[] = [
  {
    title: "keeps a blob to the last byte, and takes it twice",
    holds: async (store) => {
      const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);
      assert.equal(await store.blob(acme, digest), null);
      await store.putBlob(acme, digest, bytes);
      await store.putBlob(acme, digest, bytes);
      assert.deepEqual([...((await store.blob(acme, digest)) ?? [])], [...bytes]);
    },
  },
  {
    title: "keeps an empty blob",
    holds: async (store) => {
      await store.putBlob(acme, digest, new Uint8Array());
      assert.equal((await store.blob(acme, digest))?.length, 0);
    },
  },
  {
    title: "erases bodies, keeps what was hashed of them and spares the named positions",
    holds: async (store) => {
      await landed(store, { events: [event(1), event(2), event(3)] });
      assert.equal(await store.erase(all(3, { keep: [2] }), hashOf), 2);
      const kept = await store.events(acme, hire, 0);
      assert.deepEqual(
        kept.map(({ body }) => body),
        [null, event(2).body, null],
      );
      assert.deepEqual([...(kept[0]?.body_hash ?? [])], [...hashOf(event(1).body)]);
      assert.equal(kept[1]?.body_hash, null);
      assert.deepEqual(
        kept.map(({ hash }) => [...hash]),
        [1, 2, 3].map((position) => [...event(position).hash]),
      );
    },
  },
  {
    title: "erases the blobs it is told to, of this tenant and no other",
    holds: async (store) => {
      const other = "ef".repeat(32) as Digest;
      await landed(store, { events: [event(1)] });
      for (const [tenant, hash] of [
        [acme, digest],
        [acme, other],
        [globex, digest],
      ] as const)
        await store.putBlob(tenant, hash, Uint8Array.of(1));
      assert.equal(await store.erase(all(1, { blobs: [digest] }), hashOf), 1);
      assert.equal(await store.blob(acme, digest), null);
      assert.equal((await store.blob(acme, other))?.length, 1);
      assert.equal((await store.blob(globex, digest))?.length, 1);
    },
  },
  {
    title: "erases once: a second time there is nothing left to hash",
    holds: async (store) => {
      await landed(store, { events: [event(1), event(2)] });
      await store.erase(all(2, { keep: [2] }), hashOf);
      assert.equal(await store.erase(all(2, { keep: [2] }), () => new Uint8Array(32)), 0);
      const [first] = await store.events(acme, hire, 0);
      assert.deepEqual([...(first?.body_hash ?? [])], [...hashOf(event(1).body)]);
    },
  },
  {
    title: "erases nothing of a run that has moved on since it was looked at, nor of one it knows too little of",
    holds: async (store) => {
      await landed(store, { events: [event(1), event(2)] });
      await store.putBlob(acme, digest, Uint8Array.of(1));
      for (const position of [0, 1, 3])
        assert.equal(await store.erase(all(position, { blobs: [digest] }), hashOf), null);
      assert.deepEqual(
        (await store.events(acme, hire, 0)).map(({ body }) => body),
        [event(1).body, event(2).body],
      );
      assert.equal((await store.blob(acme, digest))?.length, 1);
    },
  },
  {
    title: "judges what it erases as of when it erases, not as of when it is asked",
    holds: async (store) => {
      await landed(store, {});
      const [, erased] = await Promise.all([landed(store, { at: 1 }), store.erase(all(1), hashOf)]);
      const bodies = (await store.events(acme, hire, 0)).map(({ body }) => body);
      assert.deepEqual(bodies, [erased === null ? event(1).body : null, event(2).body]);
    },
  },
  {
    title: "goes on appending to a run whose bodies are erased",
    holds: async (store) => {
      await landed(store, { events: [event(1), event(2)] });
      await store.erase(all(2), hashOf);
      await landed(store, { at: 2 });
      const late = await land(store, { at: 1 });
      assert.ok(!late.landed && late.why === "position");
      assert.deepEqual([...(late.hash ?? [])], [...event(2).hash]);
    },
  },
  {
    title: "erases nothing of a run that is not there",
    holds: async (store) => assert.equal(await store.erase(all(0), hashOf), 0),
  },
  {
    title: "names every run of a tenant that has an event, in order and part by part, and those of no other",
    holds: async (store) => {
      const runs = ["run-b", "run-ü", "run-a", "run-a1", "run-😀", "run-～"] as RunId[];
      for (const run of runs) await landed(store, { run, events: [event(1), event(2)] });
      await landed(store, { tenant: globex, run: order });
      const sorted = ["run-a", "run-a1", "run-b", "run-ü", "run-～", "run-😀"];
      assert.deepEqual(await store.runs(acme, "", 99), sorted);
      assert.deepEqual(await store.runs(acme, "", 2), sorted.slice(0, 2));
      assert.deepEqual(await store.runs(acme, "run-a1", 2), sorted.slice(2, 4));
      assert.deepEqual(await store.runs(acme, "run-aa", 1), ["run-b"]);
      assert.deepEqual(await store.runs(acme, "run-😀", 9), []);
      assert.deepEqual(await store.runs(acme, "", 0), []);
    },
  },
  {
    title: "gives journals back whole, each with its head, in order and part by part, and those of no other tenant",
    holds: async (store) => {
      const long = Array.from({ length: 1200 }, (_, index) => event(index + 1));
      const runs = { "run-b": long, "run-a": [event(1)], "run-😀": [event(1), event(2)], "run-～": [event(1)] };
      for (const [run, events] of Object.entries(runs)) await landed(store, { run: run as RunId, events });
      await landed(store, { tenant: globex, run: order });
      const found: StoredJournal[] = [];
      for (let after = ""; ; ) {
        const part = await store.journals(acme, after, 3);
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
        assert.deepEqual(events, await store.events(acme, run, 0));
        assert.deepEqual(head, await store.head(acme, run));
      }
      assert.equal(found[1]?.events.length, long.length);
    },
  },
  {
    title: "gives a long journal back as it was written, whatever lines its bodies have",
    holds: async (store) => {
      const body = (position: number) =>
        position % 100 === 7 ? '{"said":\n"2 0 1 AB step.failed"}' : `{"n":${position}}`;
      const events = Array.from({ length: 700 }, (_, index) => event(index + 1, body(index + 1)));
      await landed(store, { events });
      await landed(store, { run: order, events: [event(1, '{"said":\n"more"}')] });
      for (const after of [0, 1, 255, 256, 257, 699, 700]) {
        const found = await store.events(acme, hire, after);
        assert.deepEqual(
          found.map(({ position, body, hash }) => [position, body, [...hash]]),
          events.slice(after).map(({ position, body, hash }) => [position, body, [...hash]]),
        );
      }
      const journals = await store.journals(acme, "", 9);
      assert.deepEqual(journals[0]?.events, await store.events(acme, journals[0]?.run ?? hire, 0));
      assert.equal((await store.events(acme, order, 0))[0]?.body, '{"said":\n"more"}');
    },
  },
  {
    title: "names a run whatever its rows say, and one whose bodies are erased",
    holds: async (store) => {
      await landed(store, { puts: [{ table: "run", key: hire, was: "any", row: row({ status: "running" }) }] });
      await landed(store, { at: 1, puts: [{ table: "run", key: hire, was: "any", row: null }] });
      await landed(store, { run: order, puts: [{ table: "run", key: "run-none", was: "any", row: row({}) }] });
      await store.erase(all(2), hashOf);
      assert.deepEqual(await store.runs(acme, "", 9), [hire, order]);
    },
  },
  {
    title: "can be watched, and stops when told",
    holds: async (store) => {
      const stop = store.watch(() => {});
      stop();
      stop();
    },
  },
  {
    title: "is locked for the same worker as often as it asks",
    holds: async (store) => {
      await store.lockWorker();
      await store.lockWorker();
    },
  },
];
