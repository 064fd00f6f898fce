import { describe, expect, it } from "vitest";
import { defineSlice } from "../../schema/define-slice.ts";
import type { Json } from "../values/json.ts";
import type { Patch } from "./patch.ts";
import {
  applyPatch,
  EMPTY_STATE,
  entriesFrom,
  entriesToJson,
  entryAt,
  type ProjectState,
  sortedPairs,
} from "./project-state.ts";
import { revertPatch } from "./revert-patch.ts";
import type { Slice } from "./slice.ts";
import { diffStates } from "./state-difference.ts";

const list = defineSlice({ name: "list", shape: "list", entry: {}, initial: ["first"] });
const map = defineSlice({ name: "map", shape: "map", entry: {} });
const log = defineSlice({ name: "log", shape: "list", policy: "log", entry: {} });
const cache = defineSlice({ name: "cache", shape: "map", policy: "cache", entry: {}, initial: { empty: true } });
const slices: readonly Slice[] = [list, map, log, cache];

const then: ProjectState = EMPTY_STATE.set("list", entriesFrom(["a", "b", "c"], "1"))
  .set("map", entriesFrom({ a: 1, b: { c: 2 } }, "1"))
  .set("log", entriesFrom(["said"], "1"))
  .set("cache", entriesFrom({ known: 1 }, "1"));

function back(since: Patch, more: { slices?: readonly Slice[]; preserveLogs?: boolean; before?: ProjectState } = {}) {
  const before = more.before ?? then;
  const found = revertPatch(applyPatch(before, since), before, [since], { slices, preserveLogs: true, ...more });
  return found.ok ? found.patch : found.fault;
}

const set = (path: string, value: Json) => ({ op: "set", path, value }) as const;
const append = (path: string, value: Json) => ({ op: "append", path, value }) as const;

describe("a revert writes", () => {
  it.each<[string, Patch, Patch]>([
    ["nothing if nothing was changed", [], []],
    ["the earlier entry", [set("/map/a", 9)], [set("/map/a", 1)]],
    ["the whole earlier entry if a value inside it was changed", [set("/map/b/c", 9)], [set("/map/b", { c: 2 })]],
    ["a removed entry", [{ op: "remove", path: "/map/a" }], [set("/map/a", 1)]],
    ["the removal of an added entry", [set("/map/new", 9)], [{ op: "remove", path: "/map/new" }]],
    ["nothing for an entry that was added and removed", [set("/map/new", 9), { op: "remove", path: "/map/new" }], []],
    ["a cut if entries were appended", [append("/list", "d")], [{ op: "cut", path: "/list", length: 3 }]],
    ["the earlier item", [set("/list/1", "x")], [set("/list/1", "b")]],
    [
      "items that were cut off",
      [{ op: "cut", path: "/list", length: 1 }],
      [append("/list", "b"), append("/list", "c")],
    ],
    [
      "items that were cut off and written again",
      [{ op: "cut", path: "/list", length: 2 }, append("/list", "x"), set("/list/2", "y"), set("/list/0", "z")],
      [{ op: "cut", path: "/list", length: 2 }, set("/list/0", "a"), append("/list", "c")],
    ],
    ["a replaced slice", [set("/list", ["x"])], [set("/list", ["a", "b", "c"])]],
    ["nothing to a log", [append("/log", "more")], []],
    ["the initial entries of a cache", [set("/cache/known", 2)], [set("/cache", { empty: true })]],
  ])("%s", (_, since, patch) => {
    expect(back(since)).toEqual(patch);
  });

  it("to a log only if logs are not preserved", () => {
    const since = [append("/log", "more")];
    expect(back(since, { preserveLogs: false })).toEqual([{ op: "cut", path: "/log", length: 1 }]);
  });

  it("the initial entries of a slice that did not exist", () => {
    const since: Patch = [{ op: "init", path: "/list", value: ["first"], v: "1" }, append("/list", "x")];
    expect(back(since, { before: EMPTY_STATE })).toEqual([set("/list", ["first"])]);
  });

  it("nothing if a slice is not declared", () => {
    const message = "map is stored, but no slice of that name is declared here; declare it again";
    expect(back([set("/map/a", 9)], { slices: [list] })).toEqual({ code: "SLICE_CHANGED", message });
  });
});

describe("a revert of a slice with a newer version", () => {
  const newer = (migrations: Readonly<Record<string, (entry: Json) => Json>>) =>
    defineSlice({ name: "map", version: "2", shape: "map", entry: {}, migrations });
  const doubled = newer({ 1: (entry) => [entry, entry] });

  it("writes the whole slice in its current version", () => {
    const whole = { a: [1, 1], b: [{ c: 2 }, { c: 2 }] };
    expect(back([set("/map/a", 9)], { slices: [doubled] })).toEqual([{ ...set("/map", whole), v: "2" }]);
    const since: Patch = [{ ...set("/map", whole), v: "2" }, set("/map/a", 9)];
    expect(back(since, { slices: [doubled] })).toEqual([set("/map", whole)]);
  });

  it("is refused without a migration", () => {
    expect(back([set("/map/a", 9)], { slices: [newer({})] })).toMatchObject({ code: "SLICE_CHANGED" });
  });
});

describe("the difference between two states", () => {
  it("is empty if the same values were written", () => {
    const since: Patch = [set("/map", { a: 1, b: { c: 2 } }), set("/list/0", "a")];
    expect(diffStates(then, applyPatch(then, since), [since])).toEqual([]);
  });

  it("lists each entry with its values before and after", () => {
    const since: Patch = [
      set("/map/z", 1),
      set("/map/a", 2),
      { op: "remove", path: "/map/b" },
      set("/list/0", "a"),
      append("/list", "d"),
    ];
    expect(diffStates(then, applyPatch(then, since), [since])).toStrictEqual([
      { path: "/list/3", after: "d" },
      { path: "/map/a", before: 1, after: 2 },
      { path: "/map/b", before: { c: 2 } },
      { path: "/map/z", after: 1 },
    ]);
  });

  it("lists every entry of a new slice", () => {
    const since: Patch = [{ op: "init", path: "/map", value: { a: 1 }, v: "1" }];
    expect(diffStates(EMPTY_STATE, applyPatch(EMPTY_STATE, since), [since])).toEqual([{ path: "/map/a", after: 1 }]);
  });
});

describe("an entry", () => {
  it("is found by its exact key or index", () => {
    const found = (name: string, key: string) => entryAt(then.get(name), key);
    expect([found("list", "0"), found("list", "2"), found("map", "a")]).toEqual(["a", "c", 1]);
    for (const key of ["3", "-1", "01", "1.0", "1e0", " 1", "", "a", "-", "1".repeat(20)])
      expect([key, found("list", key)]).toEqual([key, undefined]);
    expect([found("map", "0"), found("none", "0")]).toEqual([undefined, undefined]);
    const long = entriesFrom(
      Array.from({ length: 12 }, (_, nth) => nth),
      "1",
    );
    expect([entryAt(long, "11"), entryAt(long, "12")]).toEqual([11, undefined]);
  });

  it("is frozen at every depth", () => {
    const state = applyPatch(then, [set("/map/b/c", { d: [1] })]);
    const entry = entryAt(state.get("map"), "b") as unknown as { c: { d: number[] } };
    expect(() => entry.c.d.push(2)).toThrow(TypeError);
    expect(entriesToJson(state.get("map") as never)).toEqual({ a: 1, b: { c: { d: [1] } } });
  });
});

describe("a patch", () => {
  it("does not change an existing slice by init", () => {
    const since: Patch = [{ op: "init", path: "/list", value: ["other"], v: "2" }];
    expect(applyPatch(then, since)).toBe(then);
  });

  it("keeps the version of a slice unless it names another", () => {
    const state = EMPTY_STATE.set("map", entriesFrom({ a: 1 }, "3"));
    expect(applyPatch(state, [set("/map", {})]).get("map")?.v).toBe("3");
    expect(applyPatch(state, [{ ...set("/map", {}), v: "4" }]).get("map")?.v).toBe("4");
  });

  it.each<[string, Patch, string]>([
    ["of no slice", [set("", {})], "a change names a slice"],
    ["with an invalid pointer", [set("map", {})], "map is a JSON pointer"],
    ["of an absent slice", [set("/none/a", 1)], "/none/a is in an existing slice"],
    ["that appends to a map", [append("/map", 1)], "only a list can be appended to or cut"],
    ["that cuts a map", [{ op: "cut", path: "/map", length: 0 }], "only a list can be appended to or cut"],
    ["of an absent item", [set("/list/3", "d")], "a list is changed at an existing index, not at 3"],
    ["of an item without a number", [set("/list/x", "d")], "a list is changed at an existing index, not at x"],
    ["that removes an item of a list", [{ op: "remove", path: "/list/0" }], "only whole entries of a map are removed"],
    [
      "that removes a field of an entry",
      [{ op: "remove", path: "/map/b/c" }],
      "only whole entries of a map are removed",
    ],
    ["that removes a slice", [{ op: "remove", path: "/map" }], "a slice is never removed"],
    ["that sets a slice to a number", [set("/map", 1)], "a slice is never removed"],
    ["that sets a slice to null", [set("/map", null)], "a slice is never removed"],
    ["inside a number", [set("/map/a/x", 1)], "a value can be set at /x in the entry"],
  ])("%s throws", (_, patch, why) => {
    expect(() => applyPatch(then, patch)).toThrow(why);
  });
});

describe("a slice as JSON", () => {
  const names = ["m", "z", "a", "10", "b", "9", "é", "y", "aa", "Z"];

  it("has sorted keys, in whatever order they were added", () => {
    for (const order of [names, [...names].reverse()]) {
      const whole = entriesToJson(entriesFrom(Object.fromEntries(order.map((name) => [name, name])), "1"));
      expect(Object.keys(whole).filter((key) => !/^\d/.test(key))).toEqual(["Z", "a", "aa", "b", "m", "y", "z", "é"]);
      expect(sortedPairs(entriesFrom(Object.fromEntries(order.map((name) => [name, 0])), "1").items as never)).toEqual(
        [...names].sort().map((name) => [name, 0]),
      );
    }
  });
});
