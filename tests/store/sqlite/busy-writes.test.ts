import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it, onTestFinished } from "vitest";
import { FaultError } from "../../../src/core/values/fault.ts";
import { connectSqlite } from "../../../src/store/sqlite/sqlite-driver.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite-store.ts";
import { sqliteWaitTimes } from "../../../src/store/sqlite/sqlite-wait-times.ts";
import { assertLands } from "../../../src/testing/store-contract/contract-rule.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-busy-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

/** A store whose timers fire at once and let their time pass, and another process that can hold a transaction. */
function setUp() {
  const file = join(folder, `${files++}.db`);
  const pauses: number[] = [];
  let now = 0;
  let onPause = (_: number): void => {};
  const store = openSqlite(file, {
    stopwatch: () => now,
    dice: () => 1,
    timers: {
      after: (ms, work) => {
        if (ms > sqliteWaitTimes.busyPauseMs) return () => {};
        pauses.push(ms);
        now += ms;
        onPause(now);
        setImmediate(work);
        return () => {};
      },
    },
  });
  onTestFinished(() => store.close());
  const other = connectSqlite(file);
  onTestFinished(() => other.close());
  return {
    store,
    other,
    pauses,
    whenPaused: (act: (at: number) => void) => {
      onPause = act;
    },
  };
}

describe("write that meets the transaction of another process", () => {
  it("waits briefly at first, then longer, then briefly again, and lands", async () => {
    const { store, other, pauses, whenPaused } = setUp();
    other.exec("begin immediate");
    whenPaused((at) => {
      if (at > 2 * sqliteWaitTimes.hurryAfterMs && other.isTransaction) other.exec("rollback");
    });
    await assertLands(store, {});
    assert.ok(pauses.slice(0, 5).every((ms) => ms >= sqliteWaitTimes.firstPauseMs && ms < 3));
    assert.ok(Math.max(...pauses) > 3 * sqliteWaitTimes.hurryPauseMs);
    assert.ok(pauses.slice(-20).every((ms) => ms === sqliteWaitTimes.hurryPauseMs));
  });

  it("begins with a brief wait again after it has landed", async () => {
    const { store, other, pauses, whenPaused } = setUp();
    for (const at of [0, 1]) {
      other.exec("begin immediate");
      const before = pauses.length;
      whenPaused(() => {
        if (pauses.length === before + 3) other.exec("rollback");
      });
      await assertLands(store, { at });
      assert.equal(pauses[before], sqliteWaitTimes.firstPauseMs);
    }
  });

  it("fails after a while with a clear message, and nothing of it is written", async () => {
    const { store, other } = setUp();
    other.exec("begin immediate");
    await assert.rejects(
      assertLands(store, {}),
      (error) =>
        error instanceof FaultError && /another process kept it locked for too long; try again/.test(`${error}`),
    );
    other.exec("rollback");
    await assertLands(store, {});
  });
});
