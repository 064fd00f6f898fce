import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, it } from "vitest";
import type { AppendResult, Claim, Entry, Store } from "../../../src/core/store/store.ts";
import { FaultError } from "../../../src/core/values/fault.ts";
import { type MemoryStore, memoryStore } from "../../../src/store/memory/memory-store.ts";
import { type FakeClock, fakeClock } from "../../../src/testing/fake-clock.ts";
import { modelRuns, modelTimeout } from "../../engine/models/model-runs.ts";
import {
  anyTurn,
  type ComparisonTurn,
  isClaim,
  normalizedAnswer,
  prepareCall,
  type StoreCall,
  startOfTime,
} from "../compare-stores.ts";
import { FailingSqlite, type SqliteFailure } from "./failing-sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-failures-"));
afterAll(() => rmSync(folder, { recursive: true }));
const leaseMs = 2000;

const failure: fc.Arbitrary<SqliteFailure> = fc.record({
  at: fc.constantFrom("begin", "write", "write", "commit"),
  after: fc.nat(6),
  times: fc.constantFrom(1, 2, 99),
  code: fc.constantFrom(5, 10, 13),
  endsIt: fc.boolean(),
});

/** The failure in a turn. */
const turnFailure = fc.oneof(
  { weight: 4, arbitrary: fc.record({ is: fc.constant("none") }) },
  { weight: 4, arbitrary: fc.record({ is: fc.constant("failure"), failure }) },
  { weight: 2, arbitrary: fc.record({ is: fc.constantFrom("answer lost", "killed before", "killed after") }) },
  {
    weight: 2,
    arbitrary: fc.record({ is: fc.constant("power cut"), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
);
type TurnFailure = typeof turnFailure extends fc.Arbitrary<infer Value> ? Value : never;

/** A completed call, which can be repeated on another store. */
interface CompletedCall {
  readonly at: number;
  readonly act: StoreCall;
  /** True if the call wrote a hard entry. This call and all before it must survive. */
  readonly isHard: boolean;
}

/** A memory store and a SQLite store that get the same calls. A call that fails on the disk is not made in memory. */
class ComparedStores {
  readonly #clock: FakeClock = fakeClock(startOfTime);
  readonly #disk = new FailingSqlite(mkdtempSync(join(folder, "disk-")), { clock: this.#clock, leaseMs });
  readonly #claims: Claim[] = [];
  #memory = memoryStore({ clock: this.#clock, leaseMs, leasesEnd: "by_eviction" });
  #completed: CompletedCall[] = [];

  async take({ acts, queries, passesMs }: ComparisonTurn, turnFailure: TurnFailure): Promise<void> {
    const ready = await Promise.all(acts.map((act) => prepareCall(this.#memory, this.#claims, act)));
    if (turnFailure.is === "killed before") await this.#disk.kill();
    else await this.#runCalls(ready, "failure" in turnFailure ? turnFailure.failure : null);
    // The answer was lost, so the same calls are made again.
    if (turnFailure.is === "answer lost") await this.#runCalls(ready, null);
    if (turnFailure.is === "killed after") await this.#disk.kill();
    if ("share" in turnFailure) await this.#cutPower(turnFailure.share);
    assert.deepEqual(this.#disk.dump(), this.#memory.dump());
    for (const { tenant, query } of queries)
      assert.deepEqual(
        normalizedAnswer(await this.#disk.store.list(tenant, query)),
        await this.#memory.list(tenant, query),
      );
    this.#clock.advance(passesMs);
  }

  close(): Promise<void> {
    return this.#disk.close();
  }

  async #runCalls(calls: readonly StoreCall[], failure: SqliteFailure | null): Promise<void> {
    this.#disk.failure = failure;
    const answers = await Promise.allSettled(calls.map((act) => act(this.#disk.store)));
    this.#disk.failure = null;
    const acts = calls.filter((_, index) => answers[index]?.status === "fulfilled");
    const expected: unknown[] = [];
    for (const act of acts) {
      const watch = watchHardEntries(this.#memory);
      expected.push(await act(watch.store));
      this.#completed.push({ at: this.#clock.now(), act, isHard: watch.isHard });
    }
    assert.deepEqual(normalizedAnswer(answers.flatMap(successOf)), normalizedAnswer(expected));
    this.#claims.push(...expected.flat().filter(isClaim));
  }

  /** Asserts that the file holds an earlier state with every hard entry. */
  async #cutPower(share: number): Promise<void> {
    await this.#disk.cutPower(share);
    const found = this.#disk.dump();
    const lastHard = this.#completed.findLastIndex(({ isHard }) => isHard) + 1;
    for (let count = this.#completed.length; count >= lastHard; count -= 1) {
      const { memory, done } = await this.#replay(count);
      if (!isSame(memory.dump(), found)) continue;
      this.#memory = memory;
      this.#completed = done;
      return;
    }
    assert.fail("the file after a power cut equals no earlier state with all hard entries");
  }

  /** Returns a memory store after the first `count` calls. */
  async #replay(count: number): Promise<{ readonly memory: MemoryStore; readonly done: CompletedCall[] }> {
    let now: number | null = 0;
    const clock = { now: () => (now ?? this.#clock.now()) as ReturnType<FakeClock["now"]> };
    const memory = memoryStore({ clock, leaseMs, leasesEnd: "by_eviction" });
    const done = this.#completed.slice(0, count);
    for (const { at, act } of done) {
      now = at;
      await act(memory);
    }
    now = null;
    return { memory, done };
  }
}

function isSame(one: unknown, other: unknown): boolean {
  try {
    assert.deepEqual(one, other);
    return true;
  } catch {
    return false;
  }
}

/** Returns the result of a call. A failure must be a fault of the store, which means that nothing was written. */
function successOf(settled: PromiseSettledResult<unknown>): readonly unknown[] {
  if (settled.status === "fulfilled") return [settled.value];
  assert.ok(settled.reason instanceof FaultError, String(settled.reason));
  assert.match(settled.reason.fault.code, /^STORE_/);
  return [];
}

/** Wraps a store and records whether a hard entry was written. */
function watchHardEntries(real: MemoryStore): { readonly store: Store; readonly isHard: boolean } {
  const watch = {
    isHard: false,
    store: {
      ...real,
      append: async (entries: readonly Entry[]): Promise<readonly AppendResult[]> => {
        const landings = await real.append(entries);
        watch.isHard ||= entries.some(
          ({ flush, events }, at) => flush === "hard" && events.length > 0 && landings[at]?.landed === true,
        );
        return landings;
      },
    },
  };
  return watch;
}

describe("SQLite compared with memory, under failures", () => {
  it("holds what memory holds, to the last byte, and after a power cut every hard entry", modelTimeout, async () => {
    const scenario = fc.array(fc.tuple(anyTurn, turnFailure), { minLength: 1, maxLength: 20, size: "max" });
    const survives = fc.asyncProperty(scenario, async (turns) => {
      const stores = new ComparedStores();
      try {
        for (const [turn, turnFailure] of turns) await stores.take(turn, turnFailure);
      } finally {
        await stores.close();
      }
    });
    await fc.assert(survives, modelRuns(40));
  });
});
