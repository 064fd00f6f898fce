import { describe, expect, it } from "vitest";
import type { RecordedSlice } from "../../../src/engine/api/state-api.ts";
import { stateChanges } from "./version-changes.ts";

const list = (...entries: string[]): RecordedSlice => ({ version: "1", shape: "list", entries });
const map = (entries: Record<string, number>): RecordedSlice => ({ version: "1", shape: "map", entries });

describe("the changes between two versions of a state", () => {
  it("are the entries that differ, by slice and key", () => {
    const before = { notes: list("a"), facts: map({ x: 1, y: 2 }) };
    const after = { notes: list("a", "b"), facts: map({ y: 3 }) };
    expect(stateChanges(before, after)).toEqual([
      { slice: "facts", key: "x", before: "1", after: null },
      { slice: "facts", key: "y", before: "2", after: "3" },
      { slice: "notes", key: "1", before: null, after: "b" },
    ]);
  });

  it("are none for equal states, and include a slice that only one of them has", () => {
    expect(stateChanges({ facts: map({ x: 1 }) }, { facts: map({ x: 1 }) })).toEqual([]);
    expect(stateChanges({}, { facts: map({ x: 1 }) })).toHaveLength(1);
  });
});
