import { describe, expect, it } from "vitest";
import { defineSlice } from "../../schema/define-slice.ts";
import type { Patch } from "./patch.ts";
import { EMPTY_STATE, entriesFrom } from "./project-state.ts";
import { readStateValue, recordedPointer } from "./read-state-value.ts";
import { StateAfterPatch } from "./state-after-patch.ts";

const beds = defineSlice({ name: "beds", shape: "map", entry: {}, initial: { first: 1 } });
const notes = defineSlice({ name: "notes", shape: "list", entry: {} });
const mine = defineSlice({ name: "mine", shape: "map", scope: "session", entry: {} });
const scope = { slices: [notes, beds, mine], session: "s/1" };
const state = EMPTY_STATE.set("beds", entriesFrom({ north: { free: 2, "a/b": 0 } }, "1"))
  .set("notes", entriesFrom(["a", "b"], "1"))
  .set("mine@s/1", entriesFrom({ x: 1 }, "1"));

describe("a value of state", () => {
  it.each<[string, object]>([
    ["/beds/north", { value: { free: 2, "a/b": 0 } }],
    ["/beds/north/free", { value: 2 }],
    ["/beds/north/a~1b", { value: 0 }],
    ["/beds/north/taken", {}],
    ["/beds/south", {}],
    ["/notes/1", { value: "b" }],
    ["/notes/2", {}],
    ["/mine/x", { value: 1 }],
    ["/beds", { wrong: "/beds is not in a slice of this engine" }],
    ["/other/x", { wrong: "/other/x is not in a slice of this engine" }],
    ["beds", { wrong: "beds is not in a slice of this engine" }],
  ])("at %s is %j", (place, expected) => {
    expect(readStateValue(state, scope, place)).toStrictEqual(expected);
  });

  it("is the initial one if nothing was written", () => {
    expect(readStateValue(EMPTY_STATE, scope, "/beds/first")).toEqual({ value: 1 });
  });

  it("cannot be read if its slice has changed without a migration", () => {
    const older = EMPTY_STATE.set("beds", entriesFrom({ north: 1 }, "0"));
    expect(readStateValue(older, scope, "/beds/north")).toEqual({
      wrong: expect.stringContaining("beds is stored as a map"),
    });
  });

  it("has the pointer that patches use", () => {
    const places = ["/beds/north/a~1b", "/mine/x", "/other/x", "none"].map((place) => recordedPointer(scope, place));
    expect(places).toEqual(["/beds/north/a~1b", "/mine@s~11/x", "/other/x", "/"]);
  });
});

describe("the state after a patch", () => {
  const patch: Patch = [
    { op: "set", path: "/beds/north/free", value: 1 },
    { op: "set", path: "/beds/south", value: { free: 3 } },
    { op: "append", path: "/notes", value: "c" },
  ];
  const after = new StateAfterPatch(state, patch, scope);

  it("has the patched values", () => {
    expect([after.at("/beds/north/free"), after.at("/beds/south/free"), after.at("/notes/2")]).toEqual([
      { value: 1 },
      { value: 3 },
      { value: "c" },
    ]);
  });

  it("is touched only in the entries that the patch changed", () => {
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
    const whole = new StateAfterPatch(state, [{ op: "set", path: "/mine@s~11", value: {} }], scope);
    expect([whole.touches("/mine/x"), whole.touches("/mine/other"), whole.touches("/beds/north")]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("lists the existing entries that may have changed", () => {
    expect(after.entriesOf("beds")).toEqual([
      ["north", { free: 1, "a/b": 0 }],
      ["south", { free: 3 }],
    ]);
    expect([after.entriesOf("notes"), after.entriesOf("mine"), after.entriesOf("other")]).toEqual([
      [["2", "c"]],
      [],
      [],
    ]);
    const removed = new StateAfterPatch(state, [{ op: "remove", path: "/beds/north" }], scope);
    expect(removed.entriesOf("beds")).toEqual([]);
    const cleared = new StateAfterPatch(state, [{ op: "set", path: "/mine@s~11", value: { y: 2 } }], scope);
    expect(cleared.entriesOf("mine")).toEqual([["y", 2]]);
  });
});
