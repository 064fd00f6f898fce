import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pointersOverlap } from "../json/json-pointer.ts";
import { isDeclaredPointer, type StateAccess, StateAccessOrder } from "./state-access-order.ts";

const access = (state_reads: readonly string[], state_writes: readonly string[] = []): StateAccess => ({
  state_reads,
  state_writes,
});

function waits(...all: readonly StateAccess[]): readonly (readonly number[])[] {
  const order = new StateAccessOrder<number>();
  return all.map((each, at) => [...order.next(at, each)].sort((left, right) => left - right));
}

describe("the order of accesses to state", () => {
  it("makes readers wait for the writer, and the next writer for the readers", () => {
    expect(waits(access([], ["/a"]), access(["/a"]), access(["/a"]), access([], ["/a"]))).toEqual([
      [],
      [0],
      [0],
      [0, 1, 2],
    ]);
  });

  it("counts pointers inside and around, and no others", () => {
    const all = [access([], ["/a/b"]), access([], ["/a/bc"]), access(["/a"]), access([], ["/a/b/c"]), access(["/b"])];
    expect(waits(...all)).toEqual([[], [], [0, 1], [0, 2], []]);
  });

  it("makes no item wait for itself or for undeclared accesses", () => {
    expect(waits(access(["/a"], ["/a"]), { state_reads: null, state_writes: null })).toEqual([[], []]);
  });

  it("treats an invalid pointer as the whole state", () => {
    expect(waits(access([], ["/a"]), access(["a"]), access([], ["a"]), access(["/b"]))).toEqual([[], [0], [0, 1], [2]]);
  });

  it("orders any two conflicting accesses", () => {
    const place = fc.constantFrom("/a", "/b", "/a/x", "/a/y", "/a/x/1", "/a/x/2", "/b/x");
    const list = fc.uniqueArray(place, { maxLength: 3 });
    fc.assert(
      fc.property(fc.array(fc.tuple(list, list), { maxLength: 12 }), (all) => {
        const needs = waits(...all.map(([reads, writes]) => access(reads, writes)));
        const behind = needs.map(() => new Set<number>());
        for (const [at, list] of needs.entries())
          for (const need of list) for (const each of [need, ...(behind[need] as Set<number>)]) behind[at]?.add(each);
        const meet = (left: readonly string[], right: readonly string[]) =>
          left.some((one) => right.some((other) => pointersOverlap(one, other)));
        for (const [at, [reads, writes]] of all.entries())
          for (const [before, [otherReads, otherWrites]] of all.slice(0, at).entries()) {
            const conflicts = meet(writes, otherWrites) || meet(writes, otherReads) || meet(reads, otherWrites);
            if (conflicts) expect(behind[at]?.has(before)).toBe(true);
          }
      }),
    );
  });
});

describe("a declared pointer", () => {
  it.each([
    [["/a"], "/a", true],
    [["/a"], "/a/b", true],
    [["/a"], "/ab", false],
    [["/a/b"], "/a", false],
    [[], "/a", false],
    [null, "/a", true],
  ])("%j covers %s: %s", (declared, pointer, within) => {
    expect(isDeclaredPointer(declared, pointer)).toBe(within);
  });
});
