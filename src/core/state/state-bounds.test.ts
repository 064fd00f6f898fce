import { describe, expect, it } from "vitest";
import { defineSlice } from "../../schema/define-slice.ts";
import type { Fault } from "../values/fault.ts";
import { Draft, type DraftOptions } from "./draft.ts";
import { Footprint, findStateConflict } from "./patch.ts";
import { applyPatch, EMPTY_STATE, entriesFrom, entriesToJson } from "./project-state.ts";
import { defaultSlicePolicy, findSlice, recordedSliceName, type Slice } from "./slice.ts";
import { isStatePointer, type StateAccess } from "./state-access-order.ts";

const beds = defineSlice({ name: "beds", shape: "map", entry: {}, initial: { north: { free: 1, taken: 0 } } });
const notes = defineSlice({ name: "notes", shape: "list", entry: {}, initial: ["first"] });
const mine = defineSlice({ name: "mine", shape: "map", scope: "session", entry: {} });
const stranger = defineSlice({ name: "stranger", shape: "map", entry: {} });
const slices = [beds, notes, mine];
type List = Extract<ReturnType<Draft["slice"]>, { append: unknown }>;
type Map = Extract<ReturnType<Draft["slice"]>, { delete: unknown }>;

const drafting = (more: Partial<DraftOptions> = {}) =>
  new Draft(EMPTY_STATE, { slices, session: "s/1", writes: true, ...more });
const bedsOf = (draft: Draft) => draft.slice(beds) as Map;
const notesOf = (draft: Draft) => draft.slice(notes) as List;
const access = (state_reads: readonly string[] | null, state_writes: readonly string[] | null): StateAccess => ({
  state_reads,
  state_writes,
});

type Action = (draft: Draft) => unknown;
const readNorth: Action = (draft) => bedsOf(draft).get("north", "/free");
const readAll: Action = (draft) => bedsOf(draft).all();
const writeNorth: Action = (draft) => bedsOf(draft).set("north", 1);
const writeSouth: Action = (draft) => bedsOf(draft).set("south", 1);
const appends: Action = (draft) => notesOf(draft).append("second");

/** Returns the fault of the draft after the action, or null. */
function faultOf(terms: Partial<DraftOptions>, work: Action): Fault | null {
  const draft = drafting(terms);
  try {
    work(draft);
  } catch {
    expect(draft.fault).not.toBeNull();
  }
  return draft.fault;
}

describe("a call with declared state", () => {
  it.each<[string, StateAccess, Action, string | null]>([
    ["reads a declared pointer", access(["/beds/north"], []), readNorth, null],
    ["reads inside a declared pointer", access(["/beds"], []), readNorth, null],
    ["reads a parent of a declared pointer", access(["/beds/north"], []), readAll, "reads /beds"],
    ["reads another pointer", access(["/beds/south"], []), readNorth, "reads /beds/north/free"],
    ["reads a pointer declared for writing", access([], ["/beds/north"]), readNorth, null],
    ["reads without declared reads", access(null, []), readAll, null],
    ["reads another pointer without declared writes", access(["/notes"], null), readNorth, "reads /beds/north/free"],
    ["writes a declared pointer", access([], ["/beds/north"]), writeNorth, null],
    ["writes another pointer", access([], ["/beds/north"]), writeSouth, "writes /beds/south"],
    ["writes a pointer declared for reading", access(["/beds"], []), writeNorth, "writes /beds/north"],
    ["writes without declared writes", access([], null), writeSouth, null],
    ["appends to a declared list", access([], ["/notes"]), appends, null],
    [
      "appends to a list that is not declared for writing",
      access(["/notes"], ["/notes/0"]),
      appends,
      "writes /notes/-",
    ],
  ])("%s: %j", (_, declared, work, refused) => {
    const expected = {
      code: "STATE_FORBIDDEN",
      message: expect.stringContaining(`the call ${refused}, which it did not`),
    };
    const fault = faultOf({ declared }, work);
    if (refused === null) expect(fault).toBeNull();
    else expect(fault).toMatchObject(expected);
  });

  it("names a session slice without the session", () => {
    const set: Action = (draft) => (draft.slice(mine) as Map).set("a", 1);
    expect(faultOf({ declared: access([], ["/mine/a"]) }, set)).toBeNull();
    expect(faultOf({ declared: access([], ["/mine/b"]) }, set)?.message).toContain("writes /mine/a,");
  });
});

describe("a call of a principal with state bounds", () => {
  const north = access(["/beds/north"], ["/beds/north"]);
  const beyond = access(["/beds"], ["/notes"]);

  it.each<[string, readonly StateAccess[], Action, string | null]>([
    ["reads", [north], readNorth, null],
    ["reads", [north], readAll, "read /beds"],
    ["writes", [north], writeNorth, null],
    ["writes", [north], writeSouth, "change /beds/south"],
    ["reads", [north, beyond], readNorth, null],
    ["writes", [north, beyond], writeNorth, "change /beds/north"],
    ["reads", [beyond, north], readAll, "read /beds"],
  ])("%s only what all bounds allow: %j", (_, bounds, work, refused) => {
    const fault = faultOf({ bounds }, work);
    if (refused === null) expect(fault).toBeNull();
    else
      expect(fault).toEqual({
        code: "AUTH_FORBIDDEN",
        message: `the requester may not ${refused}; use a principal with access to it`,
      });
  });

  it("must respect both its declarations and its bounds", () => {
    const declared = access(["/beds"], ["/beds"]);
    expect(faultOf({ declared, bounds: [north] }, writeSouth)).toMatchObject({ code: "AUTH_FORBIDDEN" });
    expect(faultOf({ declared, bounds: [access(null, null)] }, appends)).toMatchObject({ code: "STATE_FORBIDDEN" });
  });
});

const throwing = (thrown: unknown) => (): never => {
  throw thrown;
};

describe("a draft refuses", () => {
  const failing = (thrown: unknown) =>
    defineSlice({
      name: "failing",
      shape: "list",
      entry: {},
      reducers: { fail: throwing(thrown) },
    });

  it("an unknown slice, and says what to do", () => {
    expect(faultOf({}, (draft) => draft.slice(stranger))).toEqual({
      code: "STATE_INVALID",
      message: "stranger is not a slice of this engine; give it to createEngine",
    });
  });

  it.each([
    [new Error("no"), "the reducer of failing for fail threw: no"],
    ["no", "the reducer of failing for fail threw: a value that is not an Error"],
  ])("the error of a reducer: %s", (thrown, message) => {
    const draft = drafting({ slices: [failing(thrown)] });
    expect(() => draft.dispatch("fail", null)).toThrow(message);
    expect(draft.fault).toEqual({ code: "REDUCER_FAILED", message });
    expect(() => draft.dispatch("other", null)).toThrow(
      "no slice has a reducer for other; add one, or do not dispatch it",
    );
  });

  it("an invalid entry of a reducer with the fault of the slice, not of the reducer", () => {
    const picky = defineSlice({
      name: "picky",
      shape: "list",
      entry: { type: "integer" },
      reducers: { add: (slice, event: never) => slice.append(event) },
    });
    const draft = drafting({ slices: [picky] });
    expect(() => draft.dispatch("add", "one")).toThrow(
      expect.objectContaining({ fault: expect.objectContaining({ code: "STATE_INVALID" }) }),
    );
  });

  it("entries that the slice can no longer read", () => {
    const older = EMPTY_STATE.set("notes", entriesFrom(["first"], "0"));
    const draft = new Draft(older, { slices, session: "", writes: true });
    expect(() => notesOf(draft).all()).toThrow(/notes is stored as a list of version 0/);
    expect(draft.fault).toMatchObject({ code: "SLICE_CHANGED" });
  });

  it.each<[string, (entry: number) => string | null, string]>([
    ["is broken", (entry) => (entry > 9 ? "is too much" : null), "counts: entry a is too much"],
    ["throws", throwing(new Error("no idea")), "counts: entry a breaks its invariant: no idea"],
    ["throws a text", throwing("no idea"), "counts: entry a breaks its invariant: it threw"],
  ])("an entry whose invariant %s", (_, invariant, message) => {
    const counts = defineSlice({
      name: "counts",
      shape: "map",
      entry: {},
      invariant: (entry) => invariant(entry as number),
    });
    const draft = drafting({ slices: [counts] });
    expect(() => (draft.slice(counts) as Map).set("a", 10)).toThrow(message);
    expect(draft.fault).toEqual({ code: "STATE_INVALID", message });
    expect(draft.patch).toEqual([]);
  });

  it("writes if it is read-only, and writes after the call has ended", () => {
    expect(faultOf({ writes: false }, writeNorth)).toMatchObject({ code: "STATE_FORBIDDEN" });
    const closed = drafting();
    closed.close();
    expect(() => writeNorth(closed)).toThrow(
      expect.objectContaining({ fault: expect.objectContaining({ code: "STATE_FORBIDDEN" }) }),
    );
  });
});

describe("a draft of a slice with an older stored version", () => {
  const newer = defineSlice({
    ...{ name: "notes", version: "2", shape: "list", entry: {} },
    migrations: { 1: (entry: string) => [entry] },
  } as const);

  it("writes the migrated slice once, before the first change", () => {
    const base = EMPTY_STATE.set("notes", entriesFrom(["a"], "1"));
    const draft = new Draft(base, { slices: [newer], session: "", writes: true });
    const list = draft.slice(newer) as List;
    expect([list.all(), draft.patch]).toEqual([[["a"]], []]);
    list.append("b");
    list.append("c");
    expect(draft.patch).toEqual([
      { op: "set", path: "/notes", value: [["a"]], v: "2" },
      { op: "append", path: "/notes", value: "b" },
      { op: "append", path: "/notes", value: "c" },
    ]);
    const after = applyPatch(base, draft.patch).get("notes");
    expect([after?.v, after && entriesToJson(after)]).toEqual(["2", [["a"], "b", "c"]]);
    const other = new Footprint();
    other.add("/notes/0");
    expect(findStateConflict([draft.patch], other, new Footprint())).toBe("/notes");
    expect(draft.writes.overlaps("/notes/0")).toBe(true);
  });

  it("repeats an append of another draft if the stored slice can be read", () => {
    const appended = { op: "append", path: "/notes", value: "x" } as const;
    const draft = drafting();
    draft.append(appended);
    expect(draft.patch.at(-1)).toEqual(appended);
    const older = new Draft(EMPTY_STATE.set("notes", entriesFrom(["a"], "0")), { slices, session: "", writes: true });
    older.append(appended);
    expect([older.patch, older.fault]).toEqual([[], null]);
    for (const path of ["", "/none"])
      expect(() => draft.append({ ...appended, path })).toThrow("an append is to a known slice");
  });

  it("creates a slice once", () => {
    const draft = drafting();
    appends(draft);
    appends(draft);
    expect(draft.patch.map(({ op }) => op)).toEqual(["init", "append", "append"]);
    expect(draft.slice(notes)).toBe(draft.slice(notes));
  });
});

describe("a slice of a draft", () => {
  it("has a latest entry unless it is empty", () => {
    const empty = defineSlice({ name: "empty", shape: "list", entry: {} });
    const list = drafting({ slices: [empty] }).slice(empty) as List;
    expect(list.latest()).toBeUndefined();
    list.append(1);
    list.append(2);
    expect([list.latest(), list.size, list.where((entry) => entry === 1)]).toEqual([2, 2, [1]]);
  });

  it.each([-1, 0.5, 1, Number.NaN])("has no entry %s, and refuses to set it", (index) => {
    const list = notesOf(drafting());
    expect(list.get(index)).toBeUndefined();
    expect(() => list.set(index, "x")).toThrow(`notes has no entry ${index}; append it`);
  });

  it("finds entries of a map by value and by key", () => {
    const draft = drafting();
    const map = bedsOf(draft);
    map.set("south", { free: 0 });
    expect(map.where((_, key) => key === "south")).toEqual([["south", { free: 0 }]]);
    expect(map.where((entry) => (entry as { free: number }).free === 1).map(([key]) => key)).toEqual(["north"]);
    expect([map.size, map.has("south"), map.has("west"), map.get("north", "/free")]).toEqual([2, true, false, 1]);
    map.delete("south");
    map.delete("west");
    expect(draft.patch.slice(1)).toEqual([
      { op: "set", path: "/beds/south", value: { free: 0 } },
      { op: "remove", path: "/beds/south" },
    ]);
    expect([map.size, map.all()]).toEqual([1, [["north", { free: 1, taken: 0 }]]]);
  });

  it("can be changed at an index, unless it is a log", () => {
    const draft = drafting();
    notesOf(draft).set(0, "x");
    expect(draft.patch.at(-1)).toEqual({ op: "set", path: "/notes/0", value: "x" });
    const log = defineSlice({ name: "log", shape: "list", policy: "log", entry: { type: "integer" }, initial: [1] });
    const logged = drafting({ slices: [log] }).slice(log) as List;
    expect(() => logged.set(0, 2)).toThrow("log is a log; it can only be appended to");
    expect(() => logged.append("one")).toThrow("log: entry 1 does not fit: ");
  });

  it("can be changed inside an existing entry", () => {
    const draft = drafting();
    bedsOf(draft).setAt("north", "/free", 5);
    expect(draft.patch.at(-1)).toEqual({ op: "set", path: "/beds/north/free", value: 5 });
    expect(bedsOf(draft).get("north")).toEqual({ free: 5, taken: 0 });
    for (const [key, path] of [
      ["north", ""],
      ["north", "free"],
      ["west", "/free"],
    ] as const)
      expect(() => bedsOf(draft).setAt(key, path, 1)).toThrow(`beds: a value cannot be set at ${path} in entry ${key}`);
    expect(() => bedsOf(draft).get("north", "free")).toThrow("free is not a JSON pointer; a pointer looks like /name");
  });

  it("refuses a field that its schema drops", () => {
    const strict = {
      ...beds,
      entry: { ...beds.entry, parse: () => ({ ok: true, value: { free: 1 } }) },
    } as unknown as Slice;
    const draft = drafting({ slices: [strict] });
    expect(() => (draft.slice(strict) as Map).setAt("north", "/gone", 1)).toThrow(
      "beds: the schema has no field /gone",
    );
    expect(draft.fault).toMatchObject({ code: "STATE_INVALID" });
  });

  it("can be replaced by other entries", () => {
    const draft = drafting();
    bedsOf(draft).replace({ west: 1, east: 2 });
    notesOf(draft).replace(["x"]);
    expect([bedsOf(draft).all(), notesOf(draft).all()]).toEqual([
      [
        ["east", 2],
        ["west", 1],
      ],
      ["x"],
    ]);
  });
});

describe("a footprint", () => {
  it("overlaps its pointers, their parents and the pointers inside them, and no others", () => {
    const footprint = new Footprint();
    for (const place of ["/a/b/c", "/x"]) footprint.add(place);
    footprint.add("/x");
    expect(["/a", "/a/b", "/a/b/c", "/a/b/c/d", "/x/y/z"].map((place) => footprint.overlaps(place))).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(["/b", "/a/c", "/ab", "/a/b/cd", "/xy", ""].map((place) => footprint.overlaps(place))).toEqual(
      Array.from({ length: 6 }, () => false),
    );
    expect([footprint.size, [...footprint.places]]).toEqual([2, ["/a/b/c", "/x"]]);
    const words = new Footprint();
    for (const place of ["/ab", "/south/bed/one"]) words.add(place);
    expect(["/abc/d/e", "/sou", "/south/b"].map((place) => words.overlaps(place))).toEqual([false, false, false]);
  });
});

describe("a recorded slice name", () => {
  it("is the name of the slice, with the session appended for a session slice", () => {
    expect([recordedSliceName(beds, "s"), recordedSliceName(mine, "s@1"), recordedSliceName(mine, "")]).toEqual([
      "beds",
      "mine@s@1",
      "mine@",
    ]);
    expect(["beds", "mine@s@1", "mine@"].map((name) => findSlice(slices, name)?.name)).toEqual([
      "beds",
      "mine",
      "mine",
    ]);
    expect(["mine", "beds@s", "other", "@s"].map((name) => findSlice(slices, name))).toEqual(
      Array.from({ length: 4 }, () => undefined),
    );
  });

  it("has a default policy", () => {
    expect(["plan", "workspace_digest", "tool_invoked", "beds", "constructor"].map(defaultSlicePolicy)).toEqual([
      "state",
      "cache",
      "log",
      "state",
      "state",
    ]);
  });

  it("is the first part of a pointer into state", () => {
    expect(["/beds", "/beds/north", "", "/", "//x", "beds"].map(isStatePointer)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});
