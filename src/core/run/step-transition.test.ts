import { describe, expect, it } from "vitest";
import {
  accepts,
  cancels,
  does,
  fails,
  resumes,
  settles,
  starts,
  timesOut,
  undoes,
} from "../../testing/given/commands.ts";
import { later, noon, plan, sendMail, step } from "../../testing/given/fixtures.ts";
import { given } from "../../testing/given/given.ts";
import { fault } from "../values/fault.ts";
import type { MutableRun } from "./run.ts";
import type { StepStanding } from "./step.ts";
import { applyFailurePolicy, isIdleStep, moveStep, reopenStep, replaceStep, withdrawStep } from "./step-transition.ts";

const { run } = given(accepts(plan(step("a"), step("b", { after: ["a"] }))));
const a = run.steps.get(0);
const b = run.steps.get(1);
const draft = (over: Partial<MutableRun> = {}): MutableRun => ({ ...run, fresh: [], ...over });
const why = fault("TOOL_FAILED", "it failed");
const retrying: StepStanding = { state: "failed_retryable", fault: why, retry_at: later(5) };

describe("a change of the state of a step", () => {
  it("updates the counters of the run", () => {
    expect(moveStep(draft(), a, retrying).paces).toMatchObject({ moving: 0, retrying: 1, blocked: 1 });
    expect(moveStep(draft(), a, { state: "running", attempt: 1, started_at: noon }).paces).toBe(run.paces);
  });

  it("updates the list of waiting steps", () => {
    const waits = moveStep(draft(), a, retrying);
    const { waiting } = waits;
    expect([...waiting]).toEqual([["a", true]]);
    const still = moveStep(waits, a, { state: "waiting", on: { for: "time", until: later(9) } });
    expect(still.waiting).toBe(waiting);
    expect([...moveStep(still, a, { state: "ready" }).waiting]).toEqual([]);
  });

  it("lists the step that became ready, and reopens an ended run", () => {
    const ended = { ended: { status: "failed", at: noon } as const };
    expect(moveStep(draft(ended), b, { state: "ready" })).toMatchObject({ fresh: [1], ended: null });
    expect(moveStep(draft(ended), b, { state: "cancelled" }).fresh).toEqual([]);
  });

  it("keeps the counters and the end of the run when only other fields of the step change", () => {
    const ended = { status: "failed", at: noon } as const;
    const after = replaceStep(draft({ ended }), { ...a, attempts: 7 });
    expect(after.steps.get(0).attempts).toBe(7);
    expect(after).toMatchObject({ paces: run.paces, ended });
  });
});

describe("isIdleStep", () => {
  it.each([
    [true, { state: "pending" }],
    [true, { state: "ready" }],
    [true, { state: "waiting", on: { for: "time", until: noon } }],
    [true, { state: "waiting_approval", gate_id: "g" }],
    [true, retrying],
    [false, { state: "running", attempt: 1, started_at: noon }],
    [false, { state: "in_doubt" }],
    [false, { state: "succeeded" }],
    [false, { state: "compensating" }],
  ])("is %s for %j", (idle, standing) => {
    expect(isIdleStep({ ...a, standing: standing as StepStanding })).toBe(idle);
  });
});

describe("a reopened step", () => {
  const tool = { ...sendMail, compensates: true };
  const undoing = given(accepts(plan(step("send", { tool })))).when(does("send"), undoes("send"));
  const undo = undoing.step("undo.send.1");
  const cancel = { by: "ana", reason: "" };

  it("is ready, or cancelled with its run, or skipped with its plan", () => {
    const state = (over: object) => reopenStep(draft(over), a).steps.get(0).standing.state;
    expect(state({})).toBe("ready");
    expect(state({ cancel })).toBe("cancelled");
    expect(state({ stopped: "b" })).toBe("skipped");
    expect(state({ stopped: "b", cancel })).toBe("cancelled");
  });

  it("is ready in any run if it is an undo", () => {
    for (const over of [{ cancel }, { stopped: undo.spec.step_id }])
      expect(reopenStep({ ...undoing.run, fresh: [], ...over }, undo).steps.get(undo.index).standing.state).toBe(
        "ready",
      );
  });
});

describe("withdrawing a step", () => {
  it("keeps an act in doubt that waited to be sent again", () => {
    const tool = { ...sendMail, idempotentForMs: 600_000 };
    const scenario = given(accepts(plan(step("send", { tool })))).when(
      starts("send"),
      timesOut("send"),
      settles("send", null),
    );
    const out = (id: string, standing: StepStanding) =>
      withdrawStep({ ...scenario.run, fresh: [] }, scenario.step(id), standing).steps.get(0).standing;
    expect(out("send", { state: "cancelled" })).toMatchObject({ state: "in_doubt", doubt: { next: { do: "ask" } } });
    expect(withdrawStep(draft(), a, { state: "cancelled" }).steps.get(0).standing).toEqual({ state: "cancelled" });
  });
});

describe("a step that ends without success", () => {
  it("skips only its dependents if it neither failed nor was rejected", () => {
    const after = applyFailurePolicy(moveStep(draft(), a, { state: "cancelled" }), a, { at: given().now });
    expect(after.steps.get(1).standing).toMatchObject({ state: "skipped" });
    expect(after.stopped).toBeNull();
  });

  it("stays recorded as the step that ended the plan when another step fails later", () => {
    const two = given(accepts(plan(step("a"), step("b"), step("c")))).when(starts("a"), starts("b"));
    const scenario = two.when(fails("a", "TOOL_FAILED", { inFlight: ["b"] }), fails("b"));
    expect(scenario.run.stopped).toBe("a");
    expect(scenario.standing("c")).toMatchObject({ fault: { message: expect.stringContaining("a ended the plan") } });
    expect(scenario.when(resumes).run.stopped).toBeNull();
    expect(two.when(cancels).run.stopped).toBeNull();
  });
});
