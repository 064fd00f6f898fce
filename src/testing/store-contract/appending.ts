import assert from "node:assert/strict";
import type { Instant, RunId } from "../../core/id.ts";
import type { Entry, Landing, Store } from "../../core/store.ts";
import { acme, ana, claimed, entry, event, globex, hire, type Law, land, landed, order, row } from "./law.ts";

export const appending: readonly Law[] = [
  {
    title: "says how many events each of many runs has, in the order they were asked for",
    holds: async (store) => {
      await landed(store, { run: order });
      await landed(store, { run: order, at: 1 });
      await landed(store, { tenant: globex });
      const asked = [
        { tenant: globex, run: hire },
        { tenant: acme, run: order },
        { tenant: acme, run: hire },
        { tenant: globex, run: order },
        { tenant: acme, run: order },
      ];
      assert.deepEqual(await store.positions(asked), [1, 2, 0, 0, 2]);
      assert.deepEqual(await store.positions([]), []);
    },
  },
  {
    title: "lands an entry whole: its events, its rows and its charges",
    holds: async (store) => {
      await landed(store, {
        events: [event(1), event(2)],
        puts: [{ table: "ledger", key: "key", was: null, row: row({ state: "started" }) }],
        charges: [{ tally: "usd", amount: 5, limit: 5 }],
      });
      assert.equal((await store.events(acme, hire, 0)).length, 2);
      assert.equal((await store.row(acme, "ledger", "key"))?.row, row({ state: "started" }));
      assert.equal(await store.used(acme, "usd"), 5);
    },
  },
  {
    title: "gives events back oldest first, from after a position",
    holds: async (store) => {
      for (let at = 0; at < 12; at++) await landed(store, { at });
      const positions = async (after: number) =>
        (await store.events(acme, hire, after)).map(({ position }) => position);
      assert.deepEqual(await positions(0), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
      assert.deepEqual(await positions(9), [10, 11, 12]);
      assert.deepEqual(await positions(12), []);
      const [only, ...others] = await store.events(acme, hire, 4, 1);
      assert.deepEqual([only?.position, others], [5, []]);
    },
  },
  {
    title: "keeps an event to the last byte",
    holds: async (store) => {
      const sealed = event(1, `{"said":"größe \\u0000 \\ud83d 😀 \u2028 'quoted' \\"twice\\""}`);
      await landed(store, { events: [sealed] });
      const [kept] = await store.events(acme, hire, 0);
      assert.deepEqual(
        { ...kept, hash: [...(kept?.hash ?? [])] },
        { ...sealed, hash: [...sealed.hash], body_hash: null },
      );
    },
  },
  {
    title: "keeps every event of a long entry in its place, whatever kinds follow each other",
    holds: async (store) => {
      const kinds = ["step.started", ...Array<string>(40).fill("step.succeeded"), "run.ended", "step.succeeded"];
      const told = kinds.map((type, index) => ({
        ...event(index + 1, `{"n":${index}}`),
        type,
        at: (index * 7) as Instant,
      }));
      await landed(store, { events: told });
      const kept = await store.events(acme, hire, 0);
      assert.deepEqual(
        kept.map((one) => ({ ...one, hash: [...one.hash] })),
        told.map((one) => ({ ...one, hash: [...one.hash], body_hash: null })),
      );
    },
  },
  {
    title: "knows the head of a run, and that a run without events has none",
    holds: async (store) => {
      assert.equal(await store.head(acme, hire), null);
      await landed(store, { events: [event(1), event(2)] });
      const head = await store.head(acme, hire);
      assert.deepEqual([head?.position, ...(head?.hash ?? [])], [2, ...event(2).hash]);
    },
  },
  {
    title: "refuses a run that is not new, and shows the hash of what is stored there",
    holds: async (store) => {
      await landed(store, {});
      const landing = await land(store, { events: [event(1, `{"another":"past"}`)] });
      assert.ok(!landing.landed && landing.why === "position" && landing.hash !== null);
      assert.deepEqual([landing.position, ...landing.hash], [1, ...event(1).hash]);
    },
  },
  {
    title: "shows an entry that is sent again that it had landed",
    holds: async (store) => {
      await landed(store, {});
      await landed(store, { at: 1, events: [event(2), event(3)] });
      const landing = await land(store, { at: 1, events: [event(2), event(3)] });
      assert.ok(!landing.landed && landing.why === "position" && landing.hash !== null);
      assert.deepEqual([landing.position, ...landing.hash], [3, ...event(2).hash]);
    },
  },
  {
    title: "refuses a position that the run has not reached, and has no hash to show",
    holds: async (store) => {
      await landed(store, {});
      assert.deepEqual(await land(store, { at: 2 }), { landed: false, why: "position", position: 1, hash: null });
      assert.deepEqual(await land(store, { at: 1, run: order }), {
        landed: false,
        why: "position",
        position: 0,
        hash: null,
      });
    },
  },
  {
    title: "lands an entry of rows alone at the position it expects",
    holds: async (store) => {
      const puts = [{ table: "setting", key: "stop", was: null, row: row({ on: 1 }) }] as const;
      await landed(store, { events: [], puts });
      assert.equal(await store.head(acme, hire), null);
      await landed(store, {});
      const late = await land(store, { events: [], puts: [] });
      assert.ok(!late.landed && late.why === "position");
    },
  },
  {
    title: "lets an entry build on an earlier one of the same call",
    holds: async (store) => {
      const put = (was: number | null) => [{ table: "project", key: "site", was, row: row({ was }) }] as const;
      const entries = [entry({ puts: put(null) }), entry({ at: 1, puts: put(1) }), entry({ at: 2, puts: put(2) })];
      assert.deepEqual(await store.append(entries), [{ landed: true }, { landed: true }, { landed: true }]);
      assert.deepEqual((await store.row(acme, "project", "site"))?.version, 3);
    },
  },
  {
    title: "fails the later entries of a run whose entry failed, and nobody else's",
    holds: async (store) => {
      const wrong = entry({ at: 4 });
      const entries = [
        entry(),
        wrong,
        entry({ at: 1 }),
        entry({ run: order }),
        entry({ tenant: globex }),
        entry({ at: 1 }),
      ];
      const answers = (await store.append(entries)).map((landing) => (landing.landed ? "landed" : landing.why));
      assert.deepEqual(answers, ["landed", "position", "earlier", "landed", "landed", "earlier"]);
      assert.equal((await store.head(acme, hire))?.position, 1);
    },
  },
  {
    title: "judges each call on its own: a failed one fails no other",
    holds: async (store) => {
      const [wrong, right] = await Promise.all([land(store, { at: 3 }), land(store, {})]);
      assert.ok(!wrong.landed && wrong.why === "position");
      assert.deepEqual(right, { landed: true });
    },
  },
  {
    title: "lands one of many entries that want the same position",
    holds: async (store) => {
      const rivals = Array.from({ length: 8 }, (_, rival) => land(store, { events: [event(1, `{"rival":${rival}}`)] }));
      const landings = await Promise.all(rivals);
      assert.equal(landings.filter((landing) => landing.landed).length, 1);
      assert.equal((await store.events(acme, hire, 0)).length, 1);
    },
  },
  {
    title: "answers an empty call with nothing",
    holds: async (store) => assert.deepEqual(await store.append([]), []),
  },
  {
    title: "rejects what no engine sends: a gap, a row put twice, a charge that is no number",
    holds: async (store) => {
      const twice = { table: "gate", key: "g", was: "any", row: row({}) } as const;
      await assert.rejects(land(store, { events: [event(2)] }));
      await assert.rejects(land(store, { puts: [twice, twice] }));
      await assert.rejects(land(store, { charges: [{ tally: "usd", amount: Number.NaN, limit: 1 }] }));
      assert.equal(await store.head(acme, hire), null);
    },
  },
  {
    title: "rejects names that a database would cut or change, because two of them could become one",
    holds: async (store) => {
      for (const name of ["run\0order", "run\ud800"]) {
        await assert.rejects(land(store, { run: name as RunId }));
        await assert.rejects(land(store, { puts: [{ table: "gate", key: name, was: "any", row: row({}) }] }));
        await assert.rejects(land(store, { checks: [{ table: "gate", key: name, was: null }] }));
        await assert.rejects(land(store, { charges: [{ tally: name, amount: 1, limit: null }] }));
        await assert.rejects(store.row(acme, "gate", name));
        await assert.rejects(store.events(acme, name as RunId, 0));
      }
    },
  },
  ...failures(),
];

/** Each way to fail one condition, with a run at position 1, a row and a tally that the entry would also change. */
function failures(): readonly Law[] {
  const ways: Readonly<Record<string, Partial<Entry>>> = {
    epoch: { expect: { position: 1, epoch: 7 as never } },
    position: { expect: { position: 0, epoch: null }, events: [event(1)] },
    "row that must be new": { puts: [put("old", null)] },
    "row of another version": { puts: [put("old", 9)] },
    "row that is not there": { puts: [put("none", 1)] },
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
  return Object.entries(ways).map(([way, change]) => ({
    title: `writes nothing of an entry that fails by its ${way}`,
    holds: (store) => failsWhole(store, way, change),
  }));
}

function put(key: string, was: number | null) {
  return { table: "gate", key, was, row: row({ status: "changed" }) } as const;
}

async function failsWhole(store: Store, way: string, change: Partial<Entry>): Promise<void> {
  await landed(store, {
    puts: [{ table: "gate", key: "old", was: null, row: row({ status: "open" }) }],
    charges: [{ tally: "usd", amount: 5, limit: null }],
  });
  await claimed(store, ana);
  const puts = [put("new", null), ...(change.puts ?? [])];
  const charges = change.charges ?? [{ tally: "usd", amount: 1, limit: null }];
  const [landing] = await store.append([{ ...entry({ at: 1 }), ...change, puts, charges }]);
  assert.equal(whyNot(landing), way.split(" ")[0]);
  assert.equal((await store.events(acme, hire, 0)).length, 1);
  assert.equal((await store.head(acme, hire))?.position, 1);
  assert.equal(await store.row(acme, "gate", "new"), null);
  assert.equal((await store.row(acme, "gate", "old"))?.row, row({ status: "open" }));
  assert.deepEqual([await store.used(acme, "usd"), await store.used(acme, "calls")], [5, 0]);
}

function whyNot(landing: Landing | undefined): string | undefined {
  return landing?.landed === false ? landing.why : undefined;
}
