import { describe, expect, it } from "vitest";
import { defineSlice } from "../../schema/define-slice.ts";
import type { Fault } from "../fault.ts";
import { Draft, type DraftTerms } from "./draft.ts";
import { Footprint, quarrel } from "./patch.ts";
import { entriesFrom, NO_STATE, patched, wholeOf } from "./project-state.ts";
import { recordName, type Slice, sliceNamed, usualPolicy } from "./slice.ts";
import { isPlaceOfState, type Touches } from "./state-order.ts";

const beds = defineSlice({ name: "beds", shape: "map", entry: {}, initial: { north: { free: 1, taken: 0 } } });
const notes = defineSlice({ name: "notes", shape: "list", entry: {}, initial: ["first"] });
const mine = defineSlice({ name: "mine", shape: "map", scope: "session", entry: {} });
const stranger = defineSlice({ name: "stranger", shape: "map", entry: {} });
const slices = [beds, notes, mine];
type List = Extract<ReturnType<Draft["slice"]>, { append: unknown }>;
type Map = Extract<ReturnType<Draft["slice"]>, { delete: unknown }>;

const drafting = (more: Partial<DraftTerms> = {}) =>
  new Draft(NO_STATE, { slices, session: "s/1", writes: true, ...more });
const bedsOf = (draft: Draft) => draft.slice(beds) as Map;
const notesOf = (draft: Draft) => draft.slice(notes) as List;
const touching = (state_reads: readonly string[] | null, state_writes: readonly string[] | null): Touches => ({
  state_reads,
  state_writes,
});

type Deed = (draft: Draft) => unknown;
const readNorth: Deed = (draft) => bedsOf(draft).get("north", "/free");
const readAll: Deed = (draft) => bedsOf(draft).all();
const writeNorth: Deed = (draft) => bedsOf(draft).set("north", 1);
const writeSouth: Deed = (draft) => bedsOf(draft).set("south", 1);
const appends: Deed = (draft) => notesOf(draft).append("second");

/** Why it was refused; null: it was not. */
function flawOf(terms: Partial<DraftTerms>, work: Deed): Fault | null {
  const draft = drafting(terms);
  try {
    work(draft);
  } catch {
    expect(draft.flaw).not.toBeNull();
  }
  return draft.flaw;
}

describe("a call that says where in state it goes", () => {
  it.each<[string, Touches, Deed, string | null]>([
    ["reads there", touching(["/beds/north"], []), readNorth, null],
    ["reads inside of it", touching(["/beds"], []), readNorth, null],
    ["reads around it", touching(["/beds/north"], []), readAll, "reads /beds"],
    ["reads beside it", touching(["/beds/south"], []), readNorth, "reads /beds/north/free"],
    ["reads where it writes", touching([], ["/beds/north"]), readNorth, null],
    ["reads where it says nothing of reading", touching(null, []), readAll, null],
    ["reads where it says nothing of writing", touching(["/notes"], null), readNorth, "reads /beds/north/free"],
    ["writes there", touching([], ["/beds/north"]), writeNorth, null],
    ["writes beside it", touching([], ["/beds/north"]), writeSouth, "writes /beds/south"],
    ["writes where it reads", touching(["/beds"], []), writeNorth, "writes /beds/north"],
    ["writes where it says nothing of writing", touching([], null), writeSouth, null],
    ["appends where it writes", touching([], ["/notes"]), appends, null],
    ["appends where it does not", touching(["/notes"], ["/notes/0"]), appends, "writes /notes/-"],
  ])("%s: %j", (_, declared, work, refused) => {
    const expected = {
      code: "STATE_FORBIDDEN",
      message: expect.stringContaining(`the call ${refused}, which it did not`),
    };
    const flaw = flawOf({ declared }, work);
    if (refused === null) expect(flaw).toBeNull();
    else expect(flaw).toMatchObject(expected);
  });

  it("names a place of its session as if it were the project's", () => {
    const set: Deed = (draft) => (draft.slice(mine) as Map).set("a", 1);
    expect(flawOf({ declared: touching([], ["/mine/a"]) }, set)).toBeNull();
    expect(flawOf({ declared: touching([], ["/mine/b"]) }, set)?.message).toContain("writes /mine/a,");
  });
});

describe("a call of someone who may not go everywhere in state", () => {
  const north = touching(["/beds/north"], ["/beds/north"]);
  const beyond = touching(["/beds"], ["/notes"]);

  it.each<[string, readonly Touches[], Deed, string | null]>([
    ["reads", [north], readNorth, null],
    ["reads", [north], readAll, "look at /beds"],
    ["writes", [north], writeNorth, null],
    ["writes", [north], writeSouth, "change /beds/south"],
    ["reads", [north, beyond], readNorth, null],
    ["writes", [north, beyond], writeNorth, "change /beds/north"],
    ["reads", [beyond, north], readAll, "look at /beds"],
  ])("%s only where all of what holds it lets it: %j", (_, bounds, work, refused) => {
    const flaw = flawOf({ bounds }, work);
    if (refused === null) expect(flaw).toBeNull();
    else
      expect(flaw).toEqual({
        code: "AUTH_FORBIDDEN",
        message: `whoever asked may not ${refused}; ask as someone who may`,
      });
  });

  it("is held to what it said and to what it may", () => {
    const declared = touching(["/beds"], ["/beds"]);
    expect(flawOf({ declared, bounds: [north] }, writeSouth)).toMatchObject({ code: "AUTH_FORBIDDEN" });
    expect(flawOf({ declared, bounds: [touching(null, null)] }, appends)).toMatchObject({ code: "STATE_FORBIDDEN" });
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

  it("a slice that its engine does not know, and says what to do", () => {
    expect(flawOf({}, (draft) => draft.slice(stranger))).toEqual({
      code: "STATE_INVALID",
      message: "stranger is no slice of this engine; give it to createEngine",
    });
  });

  it.each([
    [new Error("no"), "the reducer of failing for fail threw: no"],
    ["no", "the reducer of failing for fail threw: something that is no error"],
  ])("what a reducer throws: %s", (thrown, message) => {
    const draft = drafting({ slices: [failing(thrown)] });
    expect(() => draft.dispatch("fail", null)).toThrow(message);
    expect(draft.flaw).toEqual({ code: "REDUCER_FAILED", message });
    expect(() => draft.dispatch("other", null)).toThrow(
      "no slice has a reducer for other; add one, or do not dispatch it",
    );
  });

  it("what a slice refuses to its reducer, as that and not as a failure of the reducer", () => {
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

  it("entries that its slice cannot read any more", () => {
    const older = NO_STATE.set("notes", entriesFrom(["first"], "0"));
    const draft = new Draft(older, { slices, session: "", writes: true });
    expect(() => notesOf(draft).all()).toThrow(/notes is on record as a list of version 0/);
    expect(draft.flaw).toMatchObject({ code: "SLICE_CHANGED" });
  });

  it.each<[string, (entry: number) => string | null, string]>([
    ["is broken", (entry) => (entry > 9 ? "is too much" : null), "counts: entry a is too much"],
    ["throws", throwing(new Error("no idea")), "counts: entry a breaks its invariant: no idea"],
    ["throws without a word", throwing("no idea"), "counts: entry a breaks its invariant: it threw"],
  ])("an entry whose invariant %s", (_, invariant, message) => {
    const counts = defineSlice({
      name: "counts",
      shape: "map",
      entry: {},
      invariant: (entry) => invariant(entry as number),
    });
    const draft = drafting({ slices: [counts] });
    expect(() => (draft.slice(counts) as Map).set("a", 10)).toThrow(message);
    expect(draft.flaw).toEqual({ code: "STATE_INVALID", message });
    expect(draft.patch).toEqual([]);
  });

  it("writing where it is for looking, and writing late", () => {
    expect(flawOf({ writes: false }, writeNorth)).toMatchObject({ code: "STATE_FORBIDDEN" });
    const over = drafting();
    over.close();
    expect(() => writeNorth(over)).toThrow(
      expect.objectContaining({ fault: expect.objectContaining({ code: "STATE_FORBIDDEN" }) }),
    );
  });
});

describe("a draft of a slice that was written otherwise before", () => {
  const newer = defineSlice({
    ...{ name: "notes", version: "2", shape: "list", entry: {} },
    migrations: { 1: (entry: string) => [entry] },
  } as const);

  it("writes all of it as it is now, once, before it changes anything", () => {
    const base = NO_STATE.set("notes", entriesFrom(["a"], "1"));
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
    const after = patched(base, draft.patch).get("notes");
    expect([after?.v, after && wholeOf(after)]).toEqual(["2", [["a"], "b", "c"]]);
    const other = new Footprint();
    other.add("/notes/0");
    expect(quarrel([draft.patch], other, new Footprint())).toBe("/notes");
    expect(draft.writes.meets("/notes/0")).toBe(true);
  });

  it("says again what was said elsewhere, where that can still be kept", () => {
    const said = { op: "append", path: "/notes", value: "x" } as const;
    const draft = drafting();
    draft.append(said);
    expect(draft.patch.at(-1)).toEqual(said);
    const older = new Draft(NO_STATE.set("notes", entriesFrom(["a"], "0")), { slices, session: "", writes: true });
    older.append(said);
    expect([older.patch, older.flaw]).toEqual([[], null]);
    for (const path of ["", "/none"])
      expect(() => draft.append({ ...said, path })).toThrow("what was said was said to a slice");
  });

  it("brings a slice into being once", () => {
    const draft = drafting();
    appends(draft);
    appends(draft);
    expect(draft.patch.map(({ op }) => op)).toEqual(["init", "append", "append"]);
    expect(draft.slice(notes)).toBe(draft.slice(notes));
  });
});

describe("a slice of a draft", () => {
  it("has a latest entry once it has one", () => {
    const empty = defineSlice({ name: "empty", shape: "list", entry: {} });
    const list = drafting({ slices: [empty] }).slice(empty) as List;
    expect(list.latest()).toBeUndefined();
    list.append(1);
    list.append(2);
    expect([list.latest(), list.size, list.where((entry) => entry === 1)]).toEqual([2, 2, [1]]);
  });

  it.each([-1, 0.5, 1, Number.NaN])("has no entry %s, and none is set there", (index) => {
    const list = notesOf(drafting());
    expect(list.get(index)).toBeUndefined();
    expect(() => list.set(index, "x")).toThrow(`notes has no entry ${index}; append it`);
  });

  it("finds entries of a map by what they are and by their keys", () => {
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

  it("is changed at an index, where its policy lets it", () => {
    const draft = drafting();
    notesOf(draft).set(0, "x");
    expect(draft.patch.at(-1)).toEqual({ op: "set", path: "/notes/0", value: "x" });
    const log = defineSlice({ name: "log", shape: "list", policy: "log", entry: { type: "integer" }, initial: [1] });
    const logged = drafting({ slices: [log] }).slice(log) as List;
    expect(() => logged.set(0, 2)).toThrow("log is a log; it can only be appended to");
    expect(() => logged.append("one")).toThrow("log: entry 1 does not fit: ");
  });

  it("is changed inside of an entry, and nowhere else", () => {
    const draft = drafting();
    bedsOf(draft).setAt("north", "/free", 5);
    expect(draft.patch.at(-1)).toEqual({ op: "set", path: "/beds/north/free", value: 5 });
    expect(bedsOf(draft).get("north")).toEqual({ free: 5, taken: 0 });
    for (const [key, path] of [
      ["north", ""],
      ["north", "free"],
      ["west", "/free"],
    ] as const)
      expect(() => bedsOf(draft).setAt(key, path, 1)).toThrow(`beds: entry ${key} has no place ${path}`);
    expect(() => bedsOf(draft).get("north", "free")).toThrow("free is no JSON pointer; it looks like /name");
  });

  it("does not keep what its schema leaves out", () => {
    const strict = {
      ...beds,
      entry: { ...beds.entry, parse: () => ({ ok: true, value: { free: 1 } }) },
    } as unknown as Slice;
    const draft = drafting({ slices: [strict] });
    expect(() => (draft.slice(strict) as Map).setAt("north", "/gone", 1)).toThrow("beds: no entry has a place /gone");
    expect(draft.flaw).toMatchObject({ code: "STATE_INVALID" });
  });

  it("is replaced by entries that fit, with none of those before", () => {
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

describe("what a call has touched", () => {
  it("is met by places on it, inside and around it, and by no others", () => {
    const print = new Footprint();
    for (const place of ["/a/b/c", "/x"]) print.add(place);
    print.add("/x");
    expect(["/a", "/a/b", "/a/b/c", "/a/b/c/d", "/x/y/z"].map((place) => print.meets(place))).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(["/b", "/a/c", "/ab", "/a/b/cd", "/xy", ""].map((place) => print.meets(place))).toEqual(
      Array.from({ length: 6 }, () => false),
    );
    expect([print.size, [...print.places]]).toEqual([2, ["/a/b/c", "/x"]]);
    const words = new Footprint();
    for (const place of ["/ab", "/south/bed/one"]) words.add(place);
    expect(["/abc/d/e", "/sou", "/south/b"].map((place) => words.meets(place))).toEqual([false, false, false]);
  });
});

describe("a name on record", () => {
  it("is that of a slice, with its session behind it where each has its own", () => {
    expect([recordName(beds, "s"), recordName(mine, "s@1"), recordName(mine, "")]).toEqual([
      "beds",
      "mine@s@1",
      "mine@",
    ]);
    expect(["beds", "mine@s@1", "mine@"].map((name) => sliceNamed(slices, name)?.name)).toEqual([
      "beds",
      "mine",
      "mine",
    ]);
    expect(["mine", "beds@s", "other", "@s"].map((name) => sliceNamed(slices, name))).toEqual(
      Array.from({ length: 4 }, () => undefined),
    );
  });

  it("says what a slice is kept as, if its author does not", () => {
    expect(["plan", "workspace_digest", "tool_invoked", "beds", "constructor"].map(usualPolicy)).toEqual([
      "state",
      "cache",
      "log",
      "state",
      "state",
    ]);
  });

  it("is the first part of a place of state", () => {
    expect(["/beds", "/beds/north", "", "/", "//x", "beds"].map(isPlaceOfState)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});
