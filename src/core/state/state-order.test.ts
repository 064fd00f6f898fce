import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { overlap } from "../json/pointer.ts";
import { isWithin, StateOrder, type Touches } from "./state-order.ts";

const touches = (state_reads: readonly string[], state_writes: readonly string[] = []): Touches => ({
  state_reads,
  state_writes,
});

function waits(...all: readonly Touches[]): readonly (readonly number[])[] {
  const order = new StateOrder<number>();
  return all.map((each, at) => [...order.next(at, each)].sort((left, right) => left - right));
}

describe("the order of those who touch state", () => {
  it("lets readers wait for the writer, and the next writer for the readers", () => {
    expect(waits(touches([], ["/a"]), touches(["/a"]), touches(["/a"]), touches([], ["/a"]))).toEqual([
      [],
      [0],
      [0],
      [0, 1, 2],
    ]);
  });

  it("counts places inside and around, and no others", () => {
    const all = [
      touches([], ["/a/b"]),
      touches([], ["/a/bc"]),
      touches(["/a"]),
      touches([], ["/a/b/c"]),
      touches(["/b"]),
    ];
    expect(waits(...all)).toEqual([[], [], [0, 1], [0, 2], []]);
  });

  it("lets nobody wait for itself, or for what it does not know of", () => {
    expect(waits(touches(["/a"], ["/a"]), { state_reads: null, state_writes: null })).toEqual([[], []]);
  });

  it("takes what is no pointer for all there is", () => {
    expect(waits(touches([], ["/a"]), touches(["a"]), touches([], ["a"]), touches(["/b"]))).toEqual([
      [],
      [0],
      [0, 1],
      [2],
    ]);
  });

  it("puts any two that are in each other's way one behind the other", () => {
    const place = fc.constantFrom("/a", "/b", "/a/x", "/a/y", "/a/x/1", "/a/x/2", "/b/x");
    const list = fc.uniqueArray(place, { maxLength: 3 });
    fc.assert(
      fc.property(fc.array(fc.tuple(list, list), { maxLength: 12 }), (all) => {
        const needs = waits(...all.map(([reads, writes]) => touches(reads, writes)));
        const behind = needs.map(() => new Set<number>());
        for (const [at, list] of needs.entries())
          for (const need of list) for (const each of [need, ...(behind[need] as Set<number>)]) behind[at]?.add(each);
        const meet = (left: readonly string[], right: readonly string[]) =>
          left.some((one) => right.some((other) => overlap(one, other)));
        for (const [at, [reads, writes]] of all.entries())
          for (const [before, [otherReads, otherWrites]] of all.slice(0, at).entries()) {
            const quarrel = meet(writes, otherWrites) || meet(writes, otherReads) || meet(reads, otherWrites);
            if (quarrel) expect(behind[at]?.has(before)).toBe(true);
          }
      }),
    );
  });
});

describe("a declared place", () => {
  it.each([
    [["/a"], "/a", true],
    [["/a"], "/a/b", true],
    [["/a"], "/ab", false],
    [["/a/b"], "/a", false],
    [[], "/a", false],
    [null, "/a", true],
  ])("%j takes %s: %s", (declared, pointer, within) => {
    expect(isWithin(declared, pointer)).toBe(within);
  });
});
