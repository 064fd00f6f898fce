import { describe, expect, it } from "vitest";
import { keepNote, plan, step } from "../../testing/given/cast.ts";
import { accepts, approves, starts } from "../../testing/given/moves.ts";
import { given } from "../../testing/given.ts";
import { fault } from "../fault.ts";
import type { StepId } from "../id.ts";
import type { Capture } from "../resource.ts";

const capture = { resource: "files:/srv", id: "c1" } as unknown as Capture;
const call = { input: {}, digest: "d", key: null, keyed_by: null } as never;
const keep = "keep" as StepId;
const why = fault("TOOL_FAILED", "no");
const begun = (captures: readonly Capture[]) =>
  given(accepts(plan(step("keep", { tool: keepNote, gate: "human_confirm" })))).when(
    starts("keep", { call, captures }),
    approves("keep"),
    starts("keep", { call, captures }),
  );

describe("putting back what an attempt changed", () => {
  it("is on record before it is done and after", () => {
    const told = begun([capture]);
    const now = told.now;
    const putting = told.when({ type: "restoring", now, step_id: keep, attempt: 1, fault: why });
    expect(putting.said("step.restoring")).toMatchObject({ step_id: "keep", attempt: 1, fault: why });
    const put = putting.when({ type: "restored", now, step_id: keep, attempt: 1, restored: [] });
    expect(put.types).toContain("step.restored");
  });

  it.each([
    ["of another attempt", [capture], 2, keep],
    ["of an attempt that touched nothing", [], 1, keep],
    ["of a step that is not there", [capture], 1, "other" as StepId],
  ] as const)("is not owed %s", (_, captures, attempt, step_id) => {
    const told = begun(captures);
    expect(told.step("keep").attempts).toBe(1);
    const now = told.now;
    expect(told.when({ type: "restoring", now, step_id, attempt, fault: why }).news).toEqual([]);
    expect(told.when({ type: "restored", now, step_id, attempt, restored: [] }).news).toEqual([]);
  });
});
