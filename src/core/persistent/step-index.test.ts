import { describe, expect, it } from "vitest";
import { StepIndex } from "./step-index.ts";

const planned = [{ step_id: "write" }, { step_id: "send" }, { step_id: "__proto__" }];

describe("an index of steps", () => {
  it("finds the steps of a plan and no others", () => {
    const index = StepIndex.of(planned);
    expect(planned.map(({ step_id }) => index.get(step_id))).toEqual([0, 1, 2]);
    expect(planned.every(({ step_id }) => index.has(step_id))).toBe(true);
    for (const unknown of ["", "pay", "constructor"]) {
      expect(index.get(unknown)).toBeUndefined();
      expect(index.has(unknown)).toBe(false);
    }
  });

  it("accepts later steps and does not change earlier versions", () => {
    const before = StepIndex.of(planned);
    const once = before.set("send.1", 3);
    const twice = once.set("send.2", 4);
    expect(["send", "send.1", "send.2"].map((id) => twice.get(id))).toEqual([1, 3, 4]);
    expect([once.has("send.2"), before.has("send.1")]).toEqual([false, false]);
    expect(once.get("send.1")).toBe(3);
  });
});
