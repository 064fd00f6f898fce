import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, it } from "vitest";
import { FaultError } from "../src/core/fault.ts";
import type { Claim, Entry, Landing, Store } from "../src/core/store.ts";
import { type MemoryStore, memoryStore } from "../src/store/memory/memory-store.ts";
import { type FakeClock, fakeClock } from "../src/testing/clock.ts";
import { FailingDisk, type Trouble } from "./failing-disk.ts";
import { effort, patience } from "./models/effort.ts";
import { type Asked, isClaim, normal, prepared, start, type Turn, turn } from "./store-differential.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-failures-"));
afterAll(() => rmSync(folder, { recursive: true }));
const leaseMs = 2000;

const trouble: fc.Arbitrary<Trouble> = fc.record({
  at: fc.constantFrom("begin", "write", "write", "commit"),
  after: fc.nat(6),
  times: fc.constantFrom(1, 2, 99),
  code: fc.constantFrom(5, 10, 13),
  endsIt: fc.boolean(),
});

/** What goes wrong in a turn. */
const mishap = fc.oneof(
  { weight: 4, arbitrary: fc.record({ is: fc.constant("none") }) },
  { weight: 4, arbitrary: fc.record({ is: fc.constant("trouble"), trouble }) },
  { weight: 2, arbitrary: fc.record({ is: fc.constantFrom("unheard", "killed before", "killed after") }) },
  {
    weight: 2,
    arbitrary: fc.record({ is: fc.constant("power cut"), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
);
type Mishap = typeof mishap extends fc.Arbitrary<infer Happened> ? Happened : never;

/** What was done, so that it can be done again to another store. */
interface Done {
  readonly at: number;
  readonly act: Asked;
  /** A hard entry of it landed: that and all before it survives from then on. */
  readonly isHard: boolean;
}

/** A store in memory and one on a disk, to which the same is done; what the disk refuses is not done in memory either. */
class Both {
  readonly #clock: FakeClock = fakeClock(start);
  readonly #disk = new FailingDisk(mkdtempSync(join(folder, "disk-")), { clock: this.#clock, leaseMs });
  readonly #claims: Claim[] = [];
  #memory = memoryStore({ clock: this.#clock, leaseMs });
  #done: Done[] = [];

  async take({ acts, asks, passesMs }: Turn, mishap: Mishap): Promise<void> {
    const ready = await Promise.all(acts.map((act) => prepared(this.#memory, this.#claims, act)));
    if (mishap.is === "killed before") await this.#disk.kill();
    else await this.#do(ready, "trouble" in mishap ? mishap.trouble : null);
    // Nobody heard the answer, so the same is asked for again.
    if (mishap.is === "unheard") await this.#do(ready, null);
    if (mishap.is === "killed after") await this.#disk.kill();
    if ("share" in mishap) await this.#cutPower(mishap.share);
    assert.deepEqual(this.#disk.dump(), this.#memory.dump());
    for (const { tenant, query } of asks)
      assert.deepEqual(normal(await this.#disk.store.list(tenant, query)), await this.#memory.list(tenant, query));
    this.#clock.advance(passesMs);
  }

  close(): Promise<void> {
    return this.#disk.close();
  }

  async #do(asked: readonly Asked[], trouble: Trouble | null): Promise<void> {
    this.#disk.trouble = trouble;
    const answers = await Promise.allSettled(asked.map((act) => act(this.#disk.store)));
    this.#disk.trouble = null;
    const acts = asked.filter((_, index) => answers[index]?.status === "fulfilled");
    const expected: unknown[] = [];
    for (const act of acts) {
      const watch = hardness(this.#memory);
      expected.push(await act(watch.store));
      this.#done.push({ at: this.#clock.now(), act, isHard: watch.isHard });
    }
    assert.deepEqual(normal(answers.flatMap(answered)), normal(expected));
    this.#claims.push(...expected.flat().filter(isClaim));
  }

  /** What is there afterwards is what was there at some time before, and nothing hard is lost. */
  async #cutPower(share: number): Promise<void> {
    await this.#disk.cutPower(share);
    const found = this.#disk.dump();
    const kept = this.#done.findLastIndex(({ isHard }) => isHard) + 1;
    for (let left = this.#done.length; left >= kept; left -= 1) {
      const { memory, done } = await this.#asOf(left);
      if (!isSame(memory.dump(), found)) continue;
      this.#memory = memory;
      this.#done = done;
      return;
    }
    assert.fail("a power cut left what never was, or lost what was hard");
  }

  /** The memory store as it was after so many acts. */
  async #asOf(many: number): Promise<{ readonly memory: MemoryStore; readonly done: Done[] }> {
    let now: number | null = 0;
    const clock = { now: () => (now ?? this.#clock.now()) as ReturnType<FakeClock["now"]> };
    const memory = memoryStore({ clock, leaseMs });
    const done = this.#done.slice(0, many);
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

/** The answer, if there was one; else a fault of the store, which says that nothing was written. */
function answered(settled: PromiseSettledResult<unknown>): readonly unknown[] {
  if (settled.status === "fulfilled") return [settled.value];
  assert.ok(settled.reason instanceof FaultError, String(settled.reason));
  assert.match(settled.reason.fault.code, /^STORE_/);
  return [];
}

/** A store that notices whether a hard entry landed in it. */
function hardness(real: MemoryStore): { readonly store: Store; readonly isHard: boolean } {
  const watch = {
    isHard: false,
    store: {
      ...real,
      append: async (entries: readonly Entry[]): Promise<readonly Landing[]> => {
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

describe("SQLite beside memory, when things go wrong", () => {
  it("holds what memory holds, to the last byte, and after a power cut what is hard", patience, async () => {
    const story = fc.array(fc.tuple(turn, mishap), { minLength: 1, maxLength: 20, size: "max" });
    const survives = fc.asyncProperty(story, async (turns) => {
      const both = new Both();
      try {
        for (const [taken, happened] of turns) await both.take(taken, happened);
      } finally {
        await both.close();
      }
    });
    await fc.assert(survives, effort(40));
  });
});
