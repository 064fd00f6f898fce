import assert from "node:assert/strict";
import type { Digest } from "../../core/id.ts";
import { acme, event, globex, hashOf, hire, type Law, land, landed } from "./law.ts";

const digest = "cd".repeat(32) as Digest;

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
      assert.equal(await store.erase(acme, hire, [2], hashOf), 2);
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
      assert.equal(await store.erase(acme, hire, [], hashOf, [digest]), 1);
      assert.equal(await store.blob(acme, digest), null);
      assert.equal((await store.blob(acme, other))?.length, 1);
      assert.equal((await store.blob(globex, digest))?.length, 1);
    },
  },
  {
    title: "erases once: a second time there is nothing left to hash",
    holds: async (store) => {
      await landed(store, { events: [event(1), event(2)] });
      await store.erase(acme, hire, [2], hashOf);
      assert.equal(await store.erase(acme, hire, [2], () => new Uint8Array(32)), 0);
      const [first] = await store.events(acme, hire, 0);
      assert.deepEqual([...(first?.body_hash ?? [])], [...hashOf(event(1).body)]);
    },
  },
  {
    title: "goes on appending to a run whose bodies are erased",
    holds: async (store) => {
      await landed(store, { events: [event(1), event(2)] });
      await store.erase(acme, hire, [], hashOf);
      await landed(store, { at: 2 });
      const late = await land(store, { at: 1 });
      assert.ok(!late.landed && late.why === "position");
      assert.deepEqual([...(late.hash ?? [])], [...event(2).hash]);
    },
  },
  {
    title: "erases nothing of a run that is not there",
    holds: async (store) => assert.equal(await store.erase(acme, hire, [], hashOf), 0),
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
