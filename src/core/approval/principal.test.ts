import { describe, expect, it } from "vitest";
import { ana } from "../../testing/given/fixtures.ts";
import { attenuate, stateBounds } from "./principal.ts";

describe("the state bounds of a principal", () => {
  it("come from every capability that restricts reads or writes", () => {
    const reads = attenuate(ana, { state_reads: ["/a"] });
    const both = attenuate(attenuate(reads, { state_writes: ["/b"] }), { tools: { deny: ["mail.*"] } });
    expect(stateBounds(both)).toEqual([
      { state_reads: ["/a"], state_writes: null },
      { state_reads: null, state_writes: ["/b"] },
    ]);
    expect([stateBounds(ana), stateBounds({})]).toEqual([[], []]);
  });
});

describe("attenuating a principal", () => {
  it("adds a restriction each time and does not change the original", () => {
    const one = attenuate(ana, { max_actions: 3 });
    const two = attenuate(one, { max_actions: 5 });
    expect(two).toEqual({ ...ana, capabilities: [{ max_actions: 3 }, { max_actions: 5 }] });
    expect(one.capabilities).toHaveLength(1);
    expect(ana).not.toHaveProperty("capabilities");
  });
});
