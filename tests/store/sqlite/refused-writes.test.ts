import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it, onTestFinished } from "vitest";
import type { Epoch } from "../../../src/core/values/ids.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite-store.ts";
import {
  appendEntry,
  assertLands,
  buildEntry,
  rowJson,
  runA,
  runB,
  tenantA,
} from "../../../src/testing/store-contract/contract-rule.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-refused-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

const ledger = (key: string, was: number | null) =>
  ({ table: "ledger", key, was, row: rowJson({ key, was }) }) as const;
const setting = (was: number | null) => ({ table: "setting", key: "halts", was, row: rowJson({ was }) }) as const;
const noHalt = { table: "setting", key: "halts", was: null, glance: "own" } as const;

function setUp() {
  const file = join(folder, `${files++}.db`);
  const open = () => {
    const store = openSqlite(file);
    onTestFinished(() => store.close());
    return store;
  };
  return { store: open(), other: open };
}

describe("entry whose conditions are part of its writes", () => {
  it("leaves no row if its position is wrong, and the entries beside it land", async () => {
    const { store } = setUp();
    await assertLands(store, { run: runB });
    const landings = await Promise.all([
      appendEntry(store, { run: runA, puts: [ledger("one", null)] }),
      appendEntry(store, { run: runB, at: 0, puts: [ledger("two", null)] }),
      store.putBlob(tenantA, "ab".repeat(32) as never, new Uint8Array([1])),
    ]);
    assert.deepEqual(landings[0], { landed: true });
    assert.deepEqual({ ...landings[1], hash: null }, { landed: false, why: "position", position: 1, hash: null });
    assert.equal((await store.row(tenantA, "ledger", "one"))?.version, 1);
    assert.equal(await store.row(tenantA, "ledger", "two"), null);
    assert.deepEqual(await store.blob(tenantA, "ab".repeat(32) as never), new Uint8Array([1]));
  });

  it("leaves no first row if a second one has another version", async () => {
    const { store } = setUp();
    await assertLands(store, { puts: [ledger("b", null)] });
    const landing = await appendEntry(store, { at: 1, puts: [ledger("a", null), ledger("b", 7)] });
    assert.equal(landing.landed === false && landing.why === "row" && landing.key, "b");
    assert.equal(await store.row(tenantA, "ledger", "a"), null);
    assert.equal((await store.head(tenantA, runA))?.position, 1);
  });

  it("reports the epoch before the row, as a store that checks first does", async () => {
    const { store } = setUp();
    await assertLands(store, { puts: [ledger("a", null)] });
    const landing = await appendEntry(store, { at: 1, epoch: 3 as Epoch, puts: [ledger("a", 1)] });
    assert.deepEqual(landing, { landed: false, why: "epoch" });
    assert.equal((await store.row(tenantA, "ledger", "a"))?.version, 1);
  });

  it("does not start a run whose head exists, or whose lease has another epoch", async () => {
    const { store } = setUp();
    await assertLands(store, {});
    assert.equal((await appendEntry(store, {})).landed, false);
    assert.deepEqual(await appendEntry(store, { run: runB, epoch: 1 as Epoch }), { landed: false, why: "epoch" });
    assert.equal(await store.head(tenantA, runB), null);
  });
});

describe("checked setting", () => {
  it("counts at once after this process or another one has written it", async () => {
    const { store, other } = setUp();
    await assertLands(store, { checks: [noHalt] });
    await assertLands(store, { at: 1, checks: [noHalt] });
    await assertLands(other(), { run: runB, puts: [setting(null)] });
    assert.equal((await appendEntry(store, { at: 2, checks: [noHalt] })).landed, false);
    await assertLands(store, { at: 2, checks: [{ ...noHalt, was: 1 }] });
    await assertLands(store, { at: 3, puts: [setting(1)], checks: [{ ...noHalt, was: 1 }] });
    assert.equal((await appendEntry(store, { at: 4, checks: [{ ...noHalt, was: 1 }] })).landed, false);
    await assertLands(store, { at: 4, checks: [{ ...noHalt, was: 2 }] });
  });

  it("is read again after a transaction that wrote it was undone", async () => {
    const { store } = setUp();
    await assertLands(store, {});
    const landings = await store.append([
      buildEntry({ run: runB, puts: [setting(null)] }),
      buildEntry({ run: runA, at: 1, checks: [{ ...noHalt, was: 1 }], puts: [ledger("a", null)] }),
      buildEntry({ run: runA, at: 9, puts: [ledger("b", null)] }),
    ]);
    assert.deepEqual(
      landings.map(({ landed }) => landed),
      [true, true, false],
    );
    assert.equal((await appendEntry(store, { at: 2, checks: [noHalt] })).landed, false);
    await assertLands(store, { at: 2, checks: [{ ...noHalt, was: 1 }] });
  });
});
