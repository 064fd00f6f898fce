import { describe, expect, it } from "vitest";
import { StepIndex } from "./step-index.ts";

const planned = [{ step_id: "write" }, { step_id: "send" }, { step_id: "__proto__" }];

describe("an index of steps", () => {
  it("knows where the steps of a plan are, and no others", () => {
    const index = StepIndex.of(planned);
    expect(planned.map(({ step_id }) => index.get(step_id))).toEqual([0, 1, 2]);
    expect(planned.every(({ step_id }) => index.has(step_id))).toBe(true);
    for (const nobody of ["", "pay", "constructor"]) {
      expect(index.get(nobody)).toBeUndefined();
      expect(index.has(nobody)).toBe(false);
    }
  });

  it("takes steps that came later, and leaves every earlier version as it was", () => {
    const before = StepIndex.of(planned);
    const once = before.set("send.1", 3);
    const twice = once.set("send.2", 4);
    expect(["send", "send.1", "send.2"].map((id) => twice.get(id))).toEqual([1, 3, 4]);
    expect([once.has("send.2"), before.has("send.1")]).toEqual([false, false]);
    expect(once.get("send.1")).toBe(3);
  });
});
