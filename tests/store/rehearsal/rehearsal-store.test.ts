import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { memoryStore } from "../../../src/store/memory/memory-store.ts";
import { overlayStore } from "../../../src/store/simulation/overlay-store.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import {
  appendEntry,
  assertLands,
  buildEvent,
  claimRun,
  fakeHash,
  rowJson,
  runA,
  runB,
  stepA,
  tenantA,
  timerJson,
  workerA,
} from "../../../src/testing/store-contract/contract-rule.ts";
import { type OpenStore, storeContract } from "../../../src/testing/store-contract/store-contract.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-rehearsal-"));
let files = 0;
afterAll(() => rmSync(folder, { recursive: true }));

describe("rehearsal store", () => {
  for (const { title, check } of storeContract(async (setting) => overlayStore(memoryStore(setting), setting))) {
    it(`over memory ${title}`, check);
  }

  const onDisk: OpenStore = async (setting) => {
    const real = openSqlite(join(folder, `${files++}.db`), setting);
    return { ...overlayStore(real, setting), close: () => real.close() };
  };
  for (const { title, check } of storeContract(onDisk)) it(`over SQLite ${title}`, check);
});

const open = rowJson({ status: "open" });
const closed = rowJson({ status: "closed" });

/** Makes a store with one run, three gates, a due timer, a charged tally, a marker and a blob. */
async function storeWithHistory() {
  const real = memoryStore({ clock: fakeClock() });
  const gates = ["a", "b", "c"].map((key) => ({ table: "gate", key, was: null, row: open }) as const);
  const timer = { table: "timer", key: runA, was: "any", row: timerJson(1) } as const;
  await assertLands(real, {
    events: [buildEvent(1), buildEvent(2)],
    puts: [...gates, timer],
    charges: [{ tally: "usd", amount: 6, limit: null }],
  });
  await real.mark(await claimRun(real, workerA), stepA, 1);
  await real.putBlob(tenantA, "ab" as never, new Uint8Array([7]));
  return { real, rehearsal: overlayStore(real) };
}

describe("rehearsal store over a store with history", () => {
  it("reads the real rows", async () => {
    const { rehearsal } = await storeWithHistory();
    assert.equal((await rehearsal.events(tenantA, runA, 1)).length, 1);
    assert.equal((await rehearsal.head(tenantA, runA))?.position, 2);
    assert.equal((await rehearsal.row(tenantA, "gate", "a"))?.version, 1);
    assert.equal((await rehearsal.list(tenantA, { table: "gate", order: "oldest", limit: 9 })).length, 3);
    assert.equal(await rehearsal.used(tenantA, "usd"), 6);
    assert.deepEqual([...((await rehearsal.blob(tenantA, "ab" as never)) ?? [])], [7]);
    assert.equal(await rehearsal.marked(tenantA, runA, stepA, 1, rehearsal.boot), "yes");
  });

  it("checks conditions against real rows and its own writes", async () => {
    const { rehearsal } = await storeWithHistory();
    const charges = [{ tally: "usd", amount: 3, limit: 10 }];
    await assertLands(rehearsal, { at: 2, puts: [{ table: "gate", key: "a", was: 1, row: closed }], charges });
    const again = await appendEntry(rehearsal, { at: 3, puts: [{ table: "gate", key: "a", was: 1, row: closed }] });
    assert.deepEqual(again, {
      landed: false,
      why: "row",
      table: "gate",
      key: "a",
      found: { key: "a", version: 2, row: closed },
    });
    assert.deepEqual(await appendEntry(rehearsal, { at: 3, charges }), {
      landed: false,
      why: "charge",
      tally: "usd",
      used: 9,
      limit: 10,
    });
    const late = await appendEntry(rehearsal, { at: 1 });
    assert.ok(!late.landed && late.why === "position" && late.position === 3);
    assert.deepEqual(late.hash, buildEvent(2).hash);
  });

  it("lists its own rows among the real ones, without those it removed", async () => {
    const { rehearsal } = await storeWithHistory();
    const puts = [
      { table: "gate", key: "a", was: "any", row: null },
      { table: "gate", key: "b", was: "any", row: closed },
      { table: "gate", key: "bb", was: null, row: open },
    ] as const;
    await assertLands(rehearsal, { run: runB, puts });
    const keys = async (limit: number, where?: { field: string; equals: string }) => {
      const query = { table: "gate", order: "oldest", limit, ...(where && { where }) } as const;
      return (await rehearsal.list(tenantA, query)).map(({ key }) => key);
    };
    assert.deepEqual(await keys(9), ["b", "bb", "c"]);
    assert.deepEqual(await keys(2), ["b", "bb"]);
    assert.deepEqual(await keys(9, { field: "status", equals: "open" }), ["bb", "c"]);
  });

  it("finds the real rows behind those it removed", async () => {
    const { rehearsal } = await storeWithHistory();
    const puts = ["a", "b"].map((key) => ({ table: "gate", key, was: 1, row: null }) as const);
    await assertLands(rehearsal, { run: runB, puts });
    const [found] = await rehearsal.list(tenantA, { table: "gate", order: "oldest", limit: 1 });
    assert.equal(found?.key, "c");
  });

  it("lands one of two entries for the same position of a real run", async () => {
    const { rehearsal } = await storeWithHistory();
    const landings = await Promise.all([appendEntry(rehearsal, { at: 2 }), appendEntry(rehearsal, { at: 2 })]);
    assert.deepEqual(
      landings.map(({ landed }) => landed),
      [true, false],
    );
    assert.equal((await rehearsal.head(tenantA, runA))?.position, 3);
  });

  it("continues after a rejected write", async () => {
    const { rehearsal } = await storeWithHistory();
    await assert.rejects(appendEntry(rehearsal, { at: 2, events: [buildEvent(9)] }));
    await assertLands(rehearsal, { at: 2 });
  });

  it("sees later real writes where it has not written itself", async () => {
    const { real, rehearsal } = await storeWithHistory();
    await assertLands(rehearsal, { run: runB });
    await assertLands(real, { at: 2, puts: [{ table: "gate", key: "a", was: 1, row: closed }] });
    assert.equal((await rehearsal.row(tenantA, "gate", "a"))?.row, closed);
    assert.equal((await rehearsal.head(tenantA, runA))?.position, 3);
  });

  it("never changes the real store", async () => {
    const { real, rehearsal } = await storeWithHistory();
    const before = real.dump();
    const claim = await claimRun(rehearsal, workerA);
    const puts = [{ table: "gate", key: "a", was: 1, row: null }] as const;
    await assertLands(rehearsal, { at: 2, epoch: claim.epoch, puts, charges: [{ tally: "usd", amount: 1, limit: 9 }] });
    await rehearsal.mark(claim, stepA, 2);
    await rehearsal.putBlob(tenantA, "cd" as never, new Uint8Array([8]));
    assert.ok(await rehearsal.erase({ tenant: tenantA, run: runA, position: 3, keep: [], blobs: [] }, fakeHash));
    await rehearsal.claimDue(workerA, 9);
    await rehearsal.renew(claim.worker, [claim]);
    await rehearsal.release(claim);
    await rehearsal.registerWorker("ana" as never);
    await rehearsal.close();
    assert.deepEqual(real.dump(), before);
  });

  it("claims no real run, even if it is due", async () => {
    const { rehearsal } = await storeWithHistory();
    assert.deepEqual(await rehearsal.claimDue(workerA, 9), []);
  });
});
