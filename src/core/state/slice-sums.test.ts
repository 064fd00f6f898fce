import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defineSlice } from "../../schema/define-slice.ts";
import type { Patch } from "./patch.ts";
import { applyPatch, EMPTY_STATE, entriesFrom, type ProjectState } from "./project-state.ts";
import type { Slice } from "./slice.ts";
import { SliceSums } from "./slice-sums.ts";

const fold = {
  begin: 0,
  add: (sum: number, entry: unknown) => sum + (entry as number),
  remove: (sum: number, entry: unknown) => sum - (entry as number),
  holds: (sum: number) => (sum > 100 ? `is ${sum}, more than 100` : null),
};
const beds = defineSlice({ name: "beds", shape: "map", entry: { type: "integer" }, initial: { first: 10 }, fold });
const notes = defineSlice({ name: "notes", shape: "list", scope: "session", entry: { type: "integer" }, fold });

const change: fc.Arbitrary<Patch[number]> = fc.oneof(
  fc.record({ op: fc.constant("set" as const), path: fc.constantFrom("/beds/a", "/beds/b"), value: fc.nat(60) }),
  fc.record({ op: fc.constant("remove" as const), path: fc.constantFrom("/beds/a", "/beds/first") }),
  fc.record({
    op: fc.constant("set" as const),
    path: fc.constant("/beds"),
    value: fc.dictionary(fc.string(), fc.nat(60)),
  }),
  fc.record({ op: fc.constant("append" as const), path: fc.constant("/notes@s"), value: fc.nat(60) }),
  fc.record({ op: fc.constant("cut" as const), path: fc.constant("/notes@s"), length: fc.constant(0) }),
);

const initial: ProjectState = applyPatch(EMPTY_STATE, [
  { op: "init", path: "/beds", value: { first: 10 }, v: "1" },
  { op: "init", path: "/notes@s", value: [], v: "1" },
]);

describe("a condition on a whole slice", () => {
  it("is checked only for slices that declare one", () => {
    const state = initial.set("free", entriesFrom({ a: 1 }, "1"));
    const patch: Patch = [{ op: "set", path: "/free/a", value: 1000 }];
    expect(new SliceSums([beds]).findFault(state, patch)).toBeNull();
    expect(new SliceSums([]).findFault(initial, [{ op: "set", path: "/beds/a", value: 1000 }])).toBeNull();
  });

  it("is checked on the sum of the entries, for any sequence of patches", () => {
    fc.assert(
      fc.property(fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { maxLength: 10 }), (patches) => {
        const carried = new SliceSums([beds, notes]);
        let state = initial;
        for (const patch of patches) {
          const after = applyPatch(state, patch);
          const fault = carried.findFault(state, patch);
          // An instance without earlier sums gives the same result.
          expect(fault).toEqual(new SliceSums([beds, notes]).findFault(state, patch));
          const touched = [...after].filter(([name, entries]) => entries !== state.get(name));
          const sums = touched.map(([, { items }]) => [...items].reduce<number>((sum, each) => sum + value(each), 0));
          expect(fault !== null).toBe(sums.some((sum) => sum > 100));
          carried.carry(state, patch, after);
          state = after;
        }
      }),
    );
  });

  it("costs as much as the change, not as the slice", () => {
    const work = (size: number) => {
      let added = 0;
      const add = (sum: number, entry: unknown) => {
        added += 1;
        return fold.add(sum, entry);
      };
      const counting = { ...fold, add };
      const slice = defineSlice({ name: "beds", shape: "map", entry: { type: "integer" }, fold: counting });
      const folds = new SliceSums([slice]);
      const all = Object.fromEntries(Array.from({ length: size }, (_, n) => [`bed ${n}`, 0]));
      let state = EMPTY_STATE.set("beds", entriesFrom(all, "1"));
      const set = (n: number): Patch => [{ op: "set", path: `/beds/bed ${n}`, value: 1 }];
      folds.findFault(state, set(0)); // Only the first check reads all entries.
      added = 0;
      for (let n = 0; n < 10; n += 1) {
        expect(folds.findFault(state, set(n))).toBeNull();
        const after = applyPatch(state, set(n));
        folds.carry(state, set(n), after);
        state = after;
      }
      return added;
    };
    expect(work(1000)).toBe(work(10));
  });

  it.each([
    ["list", entriesFrom([5, 6], "1"), { op: "append", path: "/all", value: 7 }, [0, 1, 2]],
    ["map", entriesFrom({ 5: 5, a: 6 }, "1"), { op: "set", path: "/all/7", value: 7 }, ["5", "a", "7"]],
  ] as const)("passes the key of each entry of a %s to add and remove", (shape, entries, change, places) => {
    const added: (string | number)[] = [];
    const removed: (string | number)[] = [];
    const slice = defineSlice({
      ...{ name: "all", shape, entry: {} },
      fold: {
        ...{ begin: 0, holds: () => null },
        add: (sum: number, _: unknown, at: string | number) => sum + added.push(at),
        remove: (sum: number, _: unknown, at: string | number) => sum - removed.push(at),
      },
    } as never) as Parameters<typeof slicesOf>[0];
    const before = EMPTY_STATE.set("all", entries);
    slicesOf(slice).findFault(before, [change]);
    expect(added).toEqual(places);
    slicesOf(slice).findFault(before, [{ op: "set", path: `/all/${places[0]}`, value: 9 }]);
    expect([removed, added.at(-1)]).toEqual([[places[0]], places[0]]);
  });

  it("fails if checking it throws", () => {
    const throwing = { ...fold, holds: () => throwError() };
    const slice = defineSlice({ name: "beds", shape: "map", entry: { type: "integer" }, fold: throwing });
    expect(new SliceSums([slice]).findFault(initial, [{ op: "set", path: "/beds/a", value: 1 }])).toMatchObject({
      code: "STATE_INVALID",
      message: expect.stringContaining("beds as a whole could not be checked: no"),
    });
    const throwingText = defineSlice({
      ...{ name: "beds", shape: "map", entry: { type: "integer" } },
      fold: { ...fold, holds: () => throwText() },
    } as const);
    expect(new SliceSums([throwingText]).findFault(initial, [{ op: "set", path: "/beds/a", value: 1 }])?.message).toBe(
      "beds as a whole could not be checked: a value that is not an Error was thrown",
    );
  });
});

function slicesOf(slice: Slice): SliceSums {
  return new SliceSums([slice]);
}

function throwText(): never {
  const no: unknown = "no";
  throw no;
}

function throwError(): never {
  throw new Error("no");
}

function value(each: unknown): number {
  return Array.isArray(each) ? (each[1] as number) : (each as number);
}
