import { describe, expect, it } from "vitest";
import { defineSlice } from "../../schema/define-slice.ts";
import type { Json } from "../json/json.ts";
import { differences } from "./difference.ts";
import type { Patch } from "./patch.ts";
import { entriesFrom, entryAt, NO_STATE, type ProjectState, patched, sorted, wholeOf } from "./project-state.ts";
import { reverting } from "./revert.ts";
import type { Slice } from "./slice.ts";

const list = defineSlice({ name: "list", shape: "list", entry: {}, initial: ["first"] });
const map = defineSlice({ name: "map", shape: "map", entry: {} });
const log = defineSlice({ name: "log", shape: "list", policy: "log", entry: {} });
const cache = defineSlice({ name: "cache", shape: "map", policy: "cache", entry: {}, initial: { empty: true } });
const slices: readonly Slice[] = [list, map, log, cache];

const then: ProjectState = NO_STATE.set("list", entriesFrom(["a", "b", "c"], "1"))
  .set("map", entriesFrom({ a: 1, b: { c: 2 } }, "1"))
  .set("log", entriesFrom(["said"], "1"))
  .set("cache", entriesFrom({ known: 1 }, "1"));

function back(since: Patch, more: { slices?: readonly Slice[]; preserveLogs?: boolean; before?: ProjectState } = {}) {
  const before = more.before ?? then;
  const found = reverting(patched(before, since), before, [since], { slices, preserveLogs: true, ...more });
  return found.ok ? found.patch : found.fault;
}

const set = (path: string, value: Json) => ({ op: "set", path, value }) as const;
const append = (path: string, value: Json) => ({ op: "append", path, value }) as const;

describe("going back writes", () => {
  it.each<[string, Patch, Patch]>([
    ["nothing where nothing was done", [], []],
    ["what an entry was", [set("/map/a", 9)], [set("/map/a", 1)]],
    ["all of an entry that was changed inside", [set("/map/b/c", 9)], [set("/map/b", { c: 2 })]],
    ["an entry that was removed", [{ op: "remove", path: "/map/a" }], [set("/map/a", 1)]],
    ["no entry where none was", [set("/map/new", 9)], [{ op: "remove", path: "/map/new" }]],
    ["nothing for an entry that came and went", [set("/map/new", 9), { op: "remove", path: "/map/new" }], []],
    ["an end where entries were appended", [append("/list", "d")], [{ op: "cut", path: "/list", length: 3 }]],
    ["what an item was", [set("/list/1", "x")], [set("/list/1", "b")]],
    ["what was cut off, once", [{ op: "cut", path: "/list", length: 1 }], [append("/list", "b"), append("/list", "c")]],
    [
      "what was cut off and written anew",
      [{ op: "cut", path: "/list", length: 2 }, append("/list", "x"), set("/list/2", "y"), set("/list/0", "z")],
      [{ op: "cut", path: "/list", length: 2 }, set("/list/0", "a"), append("/list", "c")],
    ],
    ["all of what was replaced", [set("/list", ["x"])], [set("/list", ["a", "b", "c"])]],
    ["nothing to a log", [append("/log", "more")], []],
    ["a cache that is empty, whatever was in it", [set("/cache/known", 2)], [set("/cache", { empty: true })]],
  ])("%s", (_, since, patch) => {
    expect(back(since)).toEqual(patch);
  });

  it("to a log only if it is told to", () => {
    const since = [append("/log", "more")];
    expect(back(since, { preserveLogs: false })).toEqual([{ op: "cut", path: "/log", length: 1 }]);
  });

  it("what a slice is at first where there was none", () => {
    const since: Patch = [{ op: "init", path: "/list", value: ["first"], v: "1" }, append("/list", "x")];
    expect(back(since, { before: NO_STATE })).toEqual([set("/list", ["first"])]);
  });

  it("nothing at all if a slice is not declared here", () => {
    const message = "map is on record, but no slice of that name is declared here; declare it as it was";
    expect(back([set("/map/a", 9)], { slices: [list] })).toEqual({ code: "SLICE_CHANGED", message });
  });
});

describe("going back with a slice that has changed since", () => {
  const newer = (migrations: Readonly<Record<string, (entry: Json) => Json>>) =>
    defineSlice({ name: "map", version: "2", shape: "map", entry: {}, migrations });
  const doubled = newer({ 1: (entry) => [entry, entry] });

  it("writes all of it as it is declared now", () => {
    const whole = { a: [1, 1], b: [{ c: 2 }, { c: 2 }] };
    expect(back([set("/map/a", 9)], { slices: [doubled] })).toEqual([{ ...set("/map", whole), v: "2" }]);
    const since: Patch = [{ ...set("/map", whole), v: "2" }, set("/map/a", 9)];
    expect(back(since, { slices: [doubled] })).toEqual([set("/map", whole)]);
  });

  it("is refused if nobody says what it would be", () => {
    expect(back([set("/map/a", 9)], { slices: [newer({})] })).toMatchObject({ code: "SLICE_CHANGED" });
  });
});

describe("what is different", () => {
  it("is nothing where what was written is what was there", () => {
    const since: Patch = [set("/map", { a: 1, b: { c: 2 } }), set("/list/0", "a")];
    expect(differences(then, patched(then, since), [since])).toEqual([]);
  });

  it("is told entry by entry, with what was there and what is", () => {
    const since: Patch = [
      set("/map/z", 1),
      set("/map/a", 2),
      { op: "remove", path: "/map/b" },
      set("/list/0", "a"),
      append("/list", "d"),
    ];
    expect(differences(then, patched(then, since), [since])).toStrictEqual([
      { path: "/list/3", after: "d" },
      { path: "/map/a", before: 1, after: 2 },
      { path: "/map/b", before: { c: 2 } },
      { path: "/map/z", after: 1 },
    ]);
  });

  it("is every entry of a slice that came into being", () => {
    const since: Patch = [{ op: "init", path: "/map", value: { a: 1 }, v: "1" }];
    expect(differences(NO_STATE, patched(NO_STATE, since), [since])).toEqual([{ path: "/map/a", after: 1 }]);
  });
});

describe("an entry", () => {
  it("is found by its key or index, and not by what only looks like one", () => {
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

  it("cannot be changed by whoever holds it, however deep", () => {
    const state = patched(then, [set("/map/b/c", { d: [1] })]);
    const entry = entryAt(state.get("map"), "b") as unknown as { c: { d: number[] } };
    expect(() => entry.c.d.push(2)).toThrow(TypeError);
    expect(wholeOf(state.get("map") as never)).toEqual({ a: 1, b: { c: { d: [1] } } });
  });
});

describe("a patch", () => {
  it("leaves a slice alone that it would only bring into being", () => {
    const since: Patch = [{ op: "init", path: "/list", value: ["other"], v: "2" }];
    expect(patched(then, since)).toBe(then);
  });

  it("keeps the version of a slice unless it says another", () => {
    const state = NO_STATE.set("map", entriesFrom({ a: 1 }, "3"));
    expect(patched(state, [set("/map", {})]).get("map")?.v).toBe("3");
    expect(patched(state, [{ ...set("/map", {}), v: "4" }]).get("map")?.v).toBe("4");
  });

  it.each<[string, Patch, string]>([
    ["of no slice", [set("", {})], "a change is of a slice"],
    ["by what is no pointer", [set("map", {})], "map is a JSON pointer"],
    ["of a slice that is not there", [set("/none/a", 1)], "/none/a is in a slice that was brought into being"],
    ["behind the end of a map", [append("/map", 1)], "only lists have an end"],
    ["of the end of a map", [{ op: "cut", path: "/map", length: 0 }], "only lists have an end"],
    ["of an item that is not there", [set("/list/3", "d")], "a list is changed where it has entries, not at 3"],
    ["of an item that has no number", [set("/list/x", "d")], "a list is changed where it has entries, not at x"],
    [
      "that takes an item out of a list",
      [{ op: "remove", path: "/list/0" }],
      "only whole entries of a map are removed",
    ],
    [
      "that takes a part out of an entry",
      [{ op: "remove", path: "/map/b/c" }],
      "only whole entries of a map are removed",
    ],
    ["that takes a slice away", [{ op: "remove", path: "/map" }], "a slice is never removed"],
    ["that makes a slice of a number", [set("/map", 1)], "a slice is never removed"],
    ["that makes a slice of nothing", [set("/map", null)], "a slice is never removed"],
    ["inside of what has no inside", [set("/map/a/x", 1)], "the entry has a place /x"],
  ])("%s is a bug of whoever wrote it", (_, patch, why) => {
    expect(() => patched(then, patch)).toThrow(why);
  });
});

describe("a slice in one piece", () => {
  const names = ["m", "z", "a", "10", "b", "9", "é", "y", "aa", "Z"];

  it("has the keys of a map in order, whatever order they came in", () => {
    for (const order of [names, [...names].reverse()]) {
      const whole = wholeOf(entriesFrom(Object.fromEntries(order.map((name) => [name, name])), "1"));
      expect(Object.keys(whole).filter((key) => !/^\d/.test(key))).toEqual(["Z", "a", "aa", "b", "m", "y", "z", "é"]);
      expect(sorted(entriesFrom(Object.fromEntries(order.map((name) => [name, 0])), "1").items as never)).toEqual(
        [...names].sort().map((name) => [name, 0]),
      );
    }
  });
});
