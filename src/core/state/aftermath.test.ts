import { describe, expect, it } from "vitest";
import { defineSlice } from "../../schema/define-slice.ts";
import { Aftermath } from "./aftermath.ts";
import type { Patch } from "./patch.ts";
import { entriesFrom, NO_STATE } from "./project-state.ts";
import { recordedPlace, seenAt } from "./state-seen.ts";

const beds = defineSlice({ name: "beds", shape: "map", entry: {}, initial: { first: 1 } });
const notes = defineSlice({ name: "notes", shape: "list", entry: {} });
const mine = defineSlice({ name: "mine", shape: "map", scope: "session", entry: {} });
const terms = { slices: [notes, beds, mine], session: "s/1" };
const state = NO_STATE.set("beds", entriesFrom({ north: { free: 2, "a/b": 0 } }, "1"))
  .set("notes", entriesFrom(["a", "b"], "1"))
  .set("mine@s/1", entriesFrom({ x: 1 }, "1"));

describe("what is seen of state", () => {
  it.each<[string, object]>([
    ["/beds/north", { value: { free: 2, "a/b": 0 } }],
    ["/beds/north/free", { value: 2 }],
    ["/beds/north/a~1b", { value: 0 }],
    ["/beds/north/taken", {}],
    ["/beds/south", {}],
    ["/notes/1", { value: "b" }],
    ["/notes/2", {}],
    ["/mine/x", { value: 1 }],
    ["/beds", { wrong: "/beds is in no slice of this engine" }],
    ["/other/x", { wrong: "/other/x is in no slice of this engine" }],
    ["beds", { wrong: "beds is in no slice of this engine" }],
  ])("at %s is %j", (place, seen) => {
    expect(seenAt(state, terms, place)).toStrictEqual(seen);
  });

  it("is what a slice is at first, where nothing was written", () => {
    expect(seenAt(NO_STATE, terms, "/beds/first")).toEqual({ value: 1 });
  });

  it("is nothing that its slice cannot read", () => {
    const older = NO_STATE.set("beds", entriesFrom({ north: 1 }, "0"));
    expect(seenAt(older, terms, "/beds/north")).toEqual({
      wrong: expect.stringContaining("beds is on record as a map"),
    });
  });

  it("is where patches say it is", () => {
    const places = ["/beds/north/a~1b", "/mine/x", "/other/x", "none"].map((place) => recordedPlace(terms, place));
    expect(places).toEqual(["/beds/north/a~1b", "/mine@s~11/x", "/other/x", "/"]);
  });
});

describe("state as a change would leave it", () => {
  const patch: Patch = [
    { op: "set", path: "/beds/north/free", value: 1 },
    { op: "set", path: "/beds/south", value: { free: 3 } },
    { op: "append", path: "/notes", value: "c" },
  ];
  const after = new Aftermath(state, patch, terms);

  it("is seen as it would be", () => {
    expect([after.at("/beds/north/free"), after.at("/beds/south/free"), after.at("/notes/2")]).toEqual([
      { value: 1 },
      { value: 3 },
      { value: "c" },
    ]);
  });

  it("is touched where it was changed, and nowhere else", () => {
    expect(["/beds/north", "/beds/south/free", "/notes/2", "/notes/3"].map((place) => after.touches(place))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(["/beds/west", "/notes/1", "/mine/x", "/other/x", "none"].map((place) => after.touches(place))).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
    const whole = new Aftermath(state, [{ op: "set", path: "/mine@s~11", value: {} }], terms);
    expect([whole.touches("/mine/x"), whole.touches("/mine/other"), whole.touches("/beds/north")]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("has those entries of a slice that may have changed and are there", () => {
    expect(after.entriesOf("beds")).toEqual([
      ["north", { free: 1, "a/b": 0 }],
      ["south", { free: 3 }],
    ]);
    expect([after.entriesOf("notes"), after.entriesOf("mine"), after.entriesOf("other")]).toEqual([
      [["2", "c"]],
      [],
      [],
    ]);
    const gone = new Aftermath(state, [{ op: "remove", path: "/beds/north" }], terms);
    expect(gone.entriesOf("beds")).toEqual([]);
    const cleared = new Aftermath(state, [{ op: "set", path: "/mine@s~11", value: { y: 2 } }], terms);
    expect(cleared.entriesOf("mine")).toEqual([["y", 2]]);
  });
});
