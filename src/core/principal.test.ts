import { describe, expect, it } from "vitest";
import { ana } from "../testing/given/cast.ts";
import { attenuated, stateBounds } from "./principal.ts";

describe("the places of state that a principal is held to", () => {
  it("are those of every capability that names some, whether to read or to write", () => {
    const reads = attenuated(ana, { state_reads: ["/a"] });
    const both = attenuated(attenuated(reads, { state_writes: ["/b"] }), { tools: { deny: ["mail.*"] } });
    expect(stateBounds(both)).toEqual([
      { state_reads: ["/a"], state_writes: null },
      { state_reads: null, state_writes: ["/b"] },
    ]);
    expect([stateBounds(ana), stateBounds({})]).toEqual([[], []]);
  });
});

describe("acting in somebody's name", () => {
  it("is held to less each time, and takes nothing from whom it is done for", () => {
    const one = attenuated(ana, { max_actions: 3 });
    const two = attenuated(one, { max_actions: 5 });
    expect(two).toEqual({ ...ana, capabilities: [{ max_actions: 3 }, { max_actions: 5 }] });
    expect(one.capabilities).toHaveLength(1);
    expect(ana).not.toHaveProperty("capabilities");
  });
});
