import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defineSlice } from "../../schema/define-slice.ts";
import type { Patch } from "./patch.ts";
import { entriesFrom, NO_STATE, type ProjectState, patched } from "./project-state.ts";
import type { Slice } from "./slice.ts";
import { SliceFolds } from "./slice-fold.ts";

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

const begun: ProjectState = patched(NO_STATE, [
  { op: "init", path: "/beds", value: { first: 10 }, v: "1" },
  { op: "init", path: "/notes@s", value: [], v: "1" },
]);

describe("what holds of a slice as a whole", () => {
  it("is asked of slices that say so, and of no others", () => {
    const state = begun.set("free", entriesFrom({ a: 1 }, "1"));
    const patch: Patch = [{ op: "set", path: "/free/a", value: 1000 }];
    expect(new SliceFolds([beds]).flawIn(state, patch)).toBeNull();
    expect(new SliceFolds([]).flawIn(begun, [{ op: "set", path: "/beds/a", value: 1000 }])).toBeNull();
  });

  it("is what holds of the sum of its entries, however it came about", () => {
    fc.assert(
      fc.property(fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { maxLength: 10 }), (patches) => {
        const carried = new SliceFolds([beds, notes]);
        let state = begun;
        for (const patch of patches) {
          const after = patched(state, patch);
          const flaw = carried.flawIn(state, patch);
          // Whoever has seen nothing before says the same.
          expect(flaw).toEqual(new SliceFolds([beds, notes]).flawIn(state, patch));
          const touched = [...after].filter(([name, entries]) => entries !== state.get(name));
          const sums = touched.map(([, { items }]) => [...items].reduce<number>((sum, each) => sum + value(each), 0));
          expect(flaw !== null).toBe(sums.some((sum) => sum > 100));
          carried.carry(state, patch, after);
          state = after;
        }
      }),
    );
  });

  it("is judged at the cost of what was changed, not of what there is", () => {
    const work = (size: number) => {
      let added = 0;
      const add = (sum: number, entry: unknown) => {
        added += 1;
        return fold.add(sum, entry);
      };
      const counting = { ...fold, add };
      const slice = defineSlice({ name: "beds", shape: "map", entry: { type: "integer" }, fold: counting });
      const folds = new SliceFolds([slice]);
      const all = Object.fromEntries(Array.from({ length: size }, (_, n) => [`bed ${n}`, 0]));
      let state = NO_STATE.set("beds", entriesFrom(all, "1"));
      const set = (n: number): Patch => [{ op: "set", path: `/beds/bed ${n}`, value: 1 }];
      folds.flawIn(state, set(0)); // Only the first has to look at all.
      added = 0;
      for (let n = 0; n < 10; n += 1) {
        expect(folds.flawIn(state, set(n))).toBeNull();
        const after = patched(state, set(n));
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
  ] as const)("adds each entry of a %s with its place, and takes it back with it", (shape, entries, change, places) => {
    const seen: (string | number)[] = [];
    const taken: (string | number)[] = [];
    const slice = defineSlice({
      ...{ name: "all", shape, entry: {} },
      fold: {
        ...{ begin: 0, holds: () => null },
        add: (sum: number, _: unknown, at: string | number) => sum + seen.push(at),
        remove: (sum: number, _: unknown, at: string | number) => sum - taken.push(at),
      },
    } as never) as Parameters<typeof slicesOf>[0];
    const before = NO_STATE.set("all", entries);
    slicesOf(slice).flawIn(before, [change]);
    expect(seen).toEqual(places);
    slicesOf(slice).flawIn(before, [{ op: "set", path: `/all/${places[0]}`, value: 9 }]);
    expect([taken, seen.at(-1)]).toEqual([[places[0]], places[0]]);
  });

  it("is refused where it cannot be judged", () => {
    const throwing = { ...fold, holds: () => thrown() };
    const slice = defineSlice({ name: "beds", shape: "map", entry: { type: "integer" }, fold: throwing });
    expect(new SliceFolds([slice]).flawIn(begun, [{ op: "set", path: "/beds/a", value: 1 }])).toMatchObject({
      code: "STATE_INVALID",
      message: expect.stringContaining("beds as a whole could not be judged: no"),
    });
    const mute = defineSlice({
      ...{ name: "beds", shape: "map", entry: { type: "integer" } },
      fold: { ...fold, holds: () => silently() },
    } as const);
    expect(new SliceFolds([mute]).flawIn(begun, [{ op: "set", path: "/beds/a", value: 1 }])?.message).toBe(
      "beds as a whole could not be judged: something that is no error was thrown",
    );
  });
});

function slicesOf(slice: Slice): SliceFolds {
  return new SliceFolds([slice]);
}

function silently(): never {
  const no: unknown = "no";
  throw no;
}

function thrown(): never {
  throw new Error("no");
}

function value(each: unknown): number {
  return Array.isArray(each) ? (each[1] as number) : (each as number);
}
