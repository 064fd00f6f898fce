import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { memoryStore } from "../src/store/memory/memory-store.ts";
import { rehearsalStore } from "../src/store/rehearsal/rehearsal-store.ts";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { fakeClock } from "../src/testing/clock.ts";
import {
  acme,
  ana,
  claimed,
  dueAt,
  event,
  hashOf,
  hire,
  land,
  landed,
  order,
  row,
  send,
} from "../src/testing/store-contract/law.ts";
import { type OpenStore, storeContract } from "../src/testing/store-contract.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-rehearsal-"));
let files = 0;
afterAll(() => rmSync(folder, { recursive: true }));

describe("a rehearsal", () => {
  for (const { title, check } of storeContract(async (setting) => rehearsalStore(memoryStore(setting), setting))) {
    it(`over memory ${title}`, check);
  }

  const onDisk: OpenStore = async (setting) => {
    const real = sqlite(join(folder, `${files++}.db`), setting);
    return { ...rehearsalStore(real, setting), close: () => real.close() };
  };
  for (const { title, check } of storeContract(onDisk)) it(`over SQLite ${title}`, check);
});

const open = row({ status: "open" });
const closed = row({ status: "closed" });

/** A store with a past: one run, three gates, a due timer, some spent money, a marker and a blob. */
async function lived() {
  const real = memoryStore({ clock: fakeClock() });
  const gates = ["a", "b", "c"].map((key) => ({ table: "gate", key, was: null, row: open }) as const);
  const timer = { table: "timer", key: hire, was: "any", row: dueAt(1) } as const;
  await landed(real, {
    events: [event(1), event(2)],
    puts: [...gates, timer],
    charges: [{ tally: "usd", amount: 6, limit: null }],
  });
  await real.mark(await claimed(real, ana), send, 1);
  await real.putBlob(acme, "ab" as never, new Uint8Array([7]));
  return { real, rehearsal: rehearsalStore(real) };
}

describe("rehearsing on a store with a past", () => {
  it("reads what is real", async () => {
    const { rehearsal } = await lived();
    assert.equal((await rehearsal.events(acme, hire, 1)).length, 1);
    assert.equal((await rehearsal.head(acme, hire))?.position, 2);
    assert.equal((await rehearsal.row(acme, "gate", "a"))?.version, 1);
    assert.equal((await rehearsal.list(acme, { table: "gate", order: "oldest", limit: 9 })).length, 3);
    assert.equal(await rehearsal.used(acme, "usd"), 6);
    assert.deepEqual([...((await rehearsal.blob(acme, "ab" as never)) ?? [])], [7]);
    assert.equal(await rehearsal.marked(acme, hire, send, 1, rehearsal.boot), "yes");
  });

  it("judges by what is real and by what it wrote itself", async () => {
    const { rehearsal } = await lived();
    const charges = [{ tally: "usd", amount: 3, limit: 10 }];
    await landed(rehearsal, { at: 2, puts: [{ table: "gate", key: "a", was: 1, row: closed }], charges });
    const again = await land(rehearsal, { at: 3, puts: [{ table: "gate", key: "a", was: 1, row: closed }] });
    assert.deepEqual(again, {
      landed: false,
      why: "row",
      table: "gate",
      key: "a",
      found: { key: "a", version: 2, row: closed },
    });
    assert.deepEqual(await land(rehearsal, { at: 3, charges }), {
      landed: false,
      why: "charge",
      tally: "usd",
      used: 9,
      limit: 10,
    });
    const late = await land(rehearsal, { at: 1 });
    assert.ok(!late.landed && late.why === "position" && late.position === 3);
    assert.deepEqual(late.hash, event(2).hash);
  });

  it("lists its own rows among the real ones, and not those it removed", async () => {
    const { rehearsal } = await lived();
    const puts = [
      { table: "gate", key: "a", was: "any", row: null },
      { table: "gate", key: "b", was: "any", row: closed },
      { table: "gate", key: "bb", was: null, row: open },
    ] as const;
    await landed(rehearsal, { run: order, puts });
    const keys = async (limit: number, where?: { field: string; equals: string }) => {
      const query = { table: "gate", order: "oldest", limit, ...(where && { where }) } as const;
      return (await rehearsal.list(acme, query)).map(({ key }) => key);
    };
    assert.deepEqual(await keys(9), ["b", "bb", "c"]);
    assert.deepEqual(await keys(2), ["b", "bb"]);
    assert.deepEqual(await keys(9, { field: "status", equals: "open" }), ["bb", "c"]);
  });

  it("finds the real rows behind those it removed", async () => {
    const { rehearsal } = await lived();
    const puts = ["a", "b"].map((key) => ({ table: "gate", key, was: 1, row: null }) as const);
    await landed(rehearsal, { run: order, puts });
    const [found] = await rehearsal.list(acme, { table: "gate", order: "oldest", limit: 1 });
    assert.equal(found?.key, "c");
  });

  it("lands one of two entries that want the same place on a real run", async () => {
    const { rehearsal } = await lived();
    const rivals = await Promise.all([land(rehearsal, { at: 2 }), land(rehearsal, { at: 2 })]);
    assert.deepEqual(
      rivals.map(({ landed }) => landed),
      [true, false],
    );
    assert.equal((await rehearsal.head(acme, hire))?.position, 3);
  });

  it("goes on after a write that was rejected", async () => {
    const { rehearsal } = await lived();
    await assert.rejects(land(rehearsal, { at: 2, events: [event(9)] }));
    await landed(rehearsal, { at: 2 });
  });

  it("sees what becomes real meanwhile, where it has not written itself", async () => {
    const { real, rehearsal } = await lived();
    await landed(rehearsal, { run: order });
    await landed(real, { at: 2, puts: [{ table: "gate", key: "a", was: 1, row: closed }] });
    assert.equal((await rehearsal.row(acme, "gate", "a"))?.row, closed);
    assert.equal((await rehearsal.head(acme, hire))?.position, 3);
  });

  it("leaves the real store as it was, whatever it does", async () => {
    const { real, rehearsal } = await lived();
    const before = real.dump();
    const claim = await claimed(rehearsal, ana);
    const puts = [{ table: "gate", key: "a", was: 1, row: null }] as const;
    await landed(rehearsal, { at: 2, epoch: claim.epoch, puts, charges: [{ tally: "usd", amount: 1, limit: 9 }] });
    await rehearsal.mark(claim, send, 2);
    await rehearsal.putBlob(acme, "cd" as never, new Uint8Array([8]));
    assert.ok(await rehearsal.erase({ tenant: acme, run: hire, position: 3, keep: [], blobs: [] }, hashOf));
    await rehearsal.claimDue(ana, 9);
    await rehearsal.renew([claim]);
    await rehearsal.release(claim);
    await rehearsal.lockWorker();
    await rehearsal.close();
    assert.deepEqual(real.dump(), before);
  });

  it("takes no real run, however due it is", async () => {
    const { rehearsal } = await lived();
    assert.deepEqual(await rehearsal.claimDue(ana, 9), []);
  });
});
