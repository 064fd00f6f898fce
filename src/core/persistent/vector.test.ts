import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emptyVector, Vector } from "./vector.ts";

type Change = { readonly push: number } | { readonly set: readonly [at: number, value: number] };

const changes: fc.Arbitrary<readonly Change[]> = fc.array(
  fc.oneof(
    fc.record({ push: fc.integer() }),
    fc.record({ set: fc.tuple(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.integer()) }),
  ),
  { maxLength: 200 },
);
const sizes = fc.oneof(fc.nat(70), fc.integer({ min: 1000, max: 1100 }), fc.integer({ min: 32_760, max: 32_780 }));

describe("a vector", () => {
  it("is empty at first", () => {
    expect(emptyVector().length).toBe(0);
    expect([...emptyVector()]).toEqual([]);
  });

  it("behaves like an array and never changes an earlier version", () => {
    fc.assert(
      fc.property(sizes, changes, (size, list) => {
        let array = Array.from({ length: size }, (_, index) => index);
        let vector = Vector.from(array);
        const versions: (readonly [Vector<number>, readonly number[]])[] = [[vector, array]];
        for (const change of list) {
          if ("push" in change) {
            array = [...array, change.push];
            vector = vector.push(change.push);
          } else if (array.length > 0) {
            const at = Math.floor(change.set[0] * array.length);
            array = array.with(at, change.set[1]);
            vector = vector.set(at, change.set[1]);
            expect(vector.get(at)).toBe(change.set[1]);
          }
          versions.push([vector, array]);
        }
        for (const [version, expected] of [versions[0], versions.at(-1), versions[versions.length >> 1]].filter(
          isDefined,
        )) {
          expect(version.length).toBe(expected.length);
          expect([...version].findIndex((item, at) => item !== expected[at])).toBe(-1);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("grows item by item through every level", () => {
    let vector = emptyVector<number>();
    for (let item = 0; item < 33_000; item += 1) vector = vector.push(item);
    for (const index of [0, 31, 32, 1023, 1024, 32_767, 32_768, 32_999]) expect(vector.get(index)).toBe(index);
  });

  it("can be cut to any length, on every level, and grows from there", () => {
    for (const size of [1, 32, 33, 1024, 1025, 33_000]) {
      const items = Array.from({ length: size }, (_, index) => index);
      const vector = Vector.from(items);
      for (const length of [0, 1, 31, 32, 33, 1023, 1024, 1025, size - 1, size].filter((count) => count <= size)) {
        const cut = vector.take(length);
        expect([cut.length, [...cut].findIndex((item, at) => item !== items[at])]).toEqual([length, -1]);
        const grown = cut.push(-1).push(-2);
        expect([grown.length, grown.get(length), grown.get(length + 1)]).toEqual([length + 2, -1, -2]);
        if (length > 0) expect(grown.get(length - 1)).toBe(length - 1);
      }
      expect(vector.length).toBe(size);
    }
  });

  it.each([-1, 0.5, 4, Number.NaN])("of three items cannot be cut to %s", (length) => {
    expect(() => Vector.from([1, 2, 3]).take(length)).toThrow("a vector is cut to at most its length");
  });

  it("shares unchanged items between versions", () => {
    const items = Array.from({ length: 10_000 }, (_, index) => ({ index }));
    const changed = Vector.from(items).set(5000, { index: -1 });
    expect([...changed].filter((item, index) => item !== items[index])).toEqual([{ index: -1 }]);
  });

  it.each([-1, 3, 0.5, Number.NaN])("has no item %s beyond its bounds", (index) => {
    const vector = Vector.from(["a", "b", "c"]);
    expect(() => vector.get(index)).toThrow("an index is within the vector");
    expect(() => vector.set(index, "d")).toThrow("an index is within the vector");
  });
});

function isDefined<Value>(value: Value | undefined): value is Value {
  return value !== undefined;
}
