import { describe, expect, it } from "vitest";
import { accepts, approves, recovers, starts } from "../../testing/given/commands.ts";
import { ana, keepNote, plan, step } from "../../testing/given/fixtures.ts";
import { given } from "../../testing/given/given.ts";
import type { Capture } from "../ports/resource.ts";
import { fault } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";

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

describe("a restore of resources", () => {
  it("is recorded before and after it happens", () => {
    const scenario = begun([capture]);
    const now = scenario.now;
    const putting = scenario.when({ type: "restoring", now, step_id: keep, attempt: 1, fault: why });
    expect(putting.newEvent("step.restoring")).toMatchObject({ step_id: "keep", attempt: 1, fault: why });
    const put = putting.when({ type: "restored", now, step_id: keep, attempt: 1, restored: [] });
    expect(put.newEventTypes).toContain("step.restored");
  });

  it.each([
    ["for another attempt", [capture], 2, keep],
    ["for an attempt without captures", [], 1, keep],
    ["for an unknown step", [capture], 1, "other" as StepId],
  ] as const)("is not recorded %s", (_, captures, attempt, step_id) => {
    const scenario = begun(captures);
    expect(scenario.step("keep").attempts).toBe(1);
    const now = scenario.now;
    expect(scenario.when({ type: "restoring", now, step_id, attempt, fault: why }).newEvents).toEqual([]);
    expect(scenario.when({ type: "restored", now, step_id, attempt, restored: [] }).newEvents).toEqual([]);
  });

  it("that cannot be made ends the step, which keeps its captures until a person resolves it", () => {
    const lost = fault("CAPTURE_NOT_FOUND", "gone");
    const scenario = begun([capture]);
    const failed = scenario.when({ type: "unrestorable", now: scenario.now, step_id: keep, attempt: 1, fault: lost });
    expect(failed.step("keep")).toMatchObject({
      standing: { state: "failed_final", fault: lost },
      captures: [capture],
    });
    expect(
      failed.when({ type: "unrestorable", now: scenario.now, step_id: keep, attempt: 2, fault: lost }).newEvents,
    ).toEqual([]);
    const resolve = {
      type: "resolve",
      now: scenario.now,
      step_id: keep,
      attempt: null,
      reason: "",
      in_flight: [],
    } as const;
    const resolved = failed.when({ ...resolve, principal: ana, verdict: { as: "absent" } });
    expect(resolved.step("keep")).toMatchObject({ standing: { state: "failed_final" }, captures: [] });
    expect(resolved.when({ ...resolve, principal: ana, verdict: { as: "absent" } }).newEvents).toEqual([]);
  });

  it("by another worker ends the step with the fault on record, and readies it if there is none", () => {
    const scenario = begun([capture]);
    const now = scenario.now;
    const restoring = { type: "restoring", now, step_id: keep, attempt: 1 } as const;
    const recovered = scenario
      .when({ ...restoring, fault: why }, { ...restoring, fault: null })
      .when({ type: "restored", now, step_id: keep, attempt: 1, restored: [] }, recovers({ id: "keep" }));
    expect(recovered.step("keep").standing).toMatchObject({ state: "failed_final", fault: why });
    const readied = scenario
      .when({ ...restoring, fault: null })
      .when({ type: "restored", now, step_id: keep, attempt: 1, restored: [] }, recovers({ id: "keep" }));
    expect(readied.step("keep").standing).toMatchObject({ state: "ready" });
  });
});
