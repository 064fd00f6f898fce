import { describe, expect, it } from "vitest";
import { planReasons } from "../../../tests/core/plan-fixture.ts";
import { accepts, cancels, delivers, does, fails, starts } from "../../testing/given/commands.ts";
import { hireRun, orderRun, plan, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenRun, given } from "../../testing/given/given.ts";
import type { ParentStep } from "../event/parent-step.ts";
import type { SignalSent } from "../event/signal.ts";
import type { SignalBoxVersion } from "../event/step-parking.ts";
import { fault } from "../values/fault.ts";
import type { Instant, StepId } from "../values/ids.ts";
import { awaitedChildRun, childEndSignal } from "./child-run-notices.ts";
import { runResult } from "./run-result.ts";
import { runDueAt } from "./run-wakeups.ts";

const parent: ParentStep = { run_id: orderRun, step_id: "ask" as StepId, depth: 1, most_bytes: 20 };
const childRun = (...steps: readonly ReturnType<typeof step>[]): GivenRun => given(accepts(plan(...steps), { parent }));
const noticeOf = (scenario: GivenRun) => scenario.newEvent("run.ended").notices?.[0];

describe("a child run", () => {
  it("reports the outputs of its last steps when it ends, and is due until the report is delivered", () => {
    const scenario = childRun(step("a"), step("b", { after: ["a"] }), step("c")).when(
      does("a"),
      does("b", 2),
      does("c", 3),
    );
    const payload = { run_id: hireRun, status: "completed", outputs: { b: 2, c: 3 }, failed: [] };
    const notice_id = `ntc_hire_!report_${scenario.run.position}`;
    expect(noticeOf(scenario)).toEqual({ notice_id, topic: "run.ended", kin: "report", payload });
    expect(runDueAt(scenario.run)).not.toBeNull();
    expect(runDueAt(scenario.when(delivers(noticeOf(scenario)?.notice_id ?? "")).run)).toBeNull();
  });

  it("reports no outputs if they exceed the limit of the parent step", () => {
    const payload = (...texts: readonly string[]) =>
      noticeOf(childRun(step("a"), step("b")).when(does("a", texts[0]), does("b", texts[1])))?.payload;
    expect(payload("x".repeat(8), "y".repeat(8))).toMatchObject({ outputs: { a: "x".repeat(8), b: "y".repeat(8) } });
    expect(payload("x".repeat(8), "y".repeat(9))).toEqual({
      run_id: hireRun,
      status: "completed",
      outputs: {},
      failed: [],
      too_long: 20,
    });
    expect(payload("x".repeat(8), "é".repeat(5))).toMatchObject({ too_long: 20 });
  });

  it("reports its failed and rejected steps", () => {
    const scenario = childRun(step("a")).when(starts("a"), fails("a", "POLICY_DENIED"));
    expect(noticeOf(scenario)?.payload).toMatchObject({
      status: "failed",
      failed: [{ step_id: "a", code: "POLICY_DENIED" }],
    });
    const refused = childRun(step("a")).when(starts("a", { flaw: fault("INVALID_INPUT", "no") }));
    expect(noticeOf(refused)?.payload).toMatchObject({
      failed: [{ step_id: "a", code: "INVALID_INPUT", message: "no" }],
    });
  });

  it("reports at most ten failed steps", () => {
    const ids = Array.from({ length: 12 }, (_, nth) => `s${nth}`);
    const scenario = childRun(...ids.map((id) => step(id, { on_rejected: "continue" }))).when(
      ...ids.map((id) => starts(id, { flaw: fault("INVALID_INPUT", "no") })),
    );
    const failed = ids.slice(0, 10).map((step_id) => expect.objectContaining({ step_id }));
    expect(noticeOf(scenario)?.payload).toMatchObject({ failed });
  });

  it("sends a notice with a new id each time it ends", () => {
    const first = childRun(step("a")).when(starts("a"), fails("a", "POLICY_DENIED"));
    const again = first.when(
      { type: "resume", verb: "resume", now: first.now, principal: first.run.principal, reason: "" },
      does("a"),
    );
    expect(noticeOf(again)?.notice_id).not.toBe(noticeOf(first)?.notice_id);
  });

  it("sends no report if it has no parent", () => {
    expect(
      given(accepts(plan(step("a"))))
        .when(does("a"))
        .newEvent("run.ended"),
    ).not.toHaveProperty("notices");
  });
});

const childStep = step("ask", { kind: "run", name: "run", payload: { plan: {} } });
const box: SignalBoxVersion = { key: childEndSignal(orderRun), version: 0, sent: 0, taken: 0, waiters: [] };
const parentRun = (): GivenRun => given(accepts(plan(childStep, step("then", { after: ["ask"] }))));
const waitingParent = () => parentRun().when(starts("ask", { signal: { box, next: null } }));
const endSignal = (payload: object): Pick<SignalSent, "signal_id" | "payload" | "by" | "at"> => ({
  signal_id: "sig_1",
  payload: payload as never,
  by: orderRun,
  at: 7 as Instant,
});

describe("a step that starts a child run", () => {
  it("starts no child run before the step itself may start", () => {
    const { decision, newEvents } = parentRun().when(starts("ask"));
    expect(decision.need).toBe("child");
    expect(newEvents).toEqual([]);
  });

  it("waits for the end of the child run", () => {
    expect(waitingParent().states).toMatchObject({ ask: "waiting" });
    expect(runResult(waitingParent().run)).toMatchObject({
      blocked_on: [{ reason_code: "WAITING_FOR_RUN", run_id: orderRun }],
    });
    expect(runResult(waitingParent().run).next).toContain(orderRun);
  });

  it.each([
    ["completed", "succeeded"],
    ["partial", "failed_final"],
    ["failed", "failed_final"],
    ["cancelled", "failed_final"],
  ])("with a child run that is %s becomes %s", (status, state) => {
    const report = endSignal({ run_id: orderRun, status, outputs: { x: 1 }, failed: [] });
    const sent = { ...box, sent: 1 };
    const after = parentRun().when(starts("ask", { signal: { box: sent, next: report } }));
    expect(after.step("ask").standing.state).toBe(state);
    expect(after.newEvents[0]).toMatchObject({ signal: { signal_id: "sig_1", taken: 1, version: 1 } });
  });

  it("fails if the outputs of the child run exceed its limit", () => {
    const report = endSignal({ run_id: orderRun, status: "completed", outputs: {}, failed: [], too_long: 20 });
    const after = parentRun().when(starts("ask", { signal: { box: { ...box, sent: 1 }, next: report } }));
    expect(after.step("ask").standing).toMatchObject({ state: "failed_final", fault: { code: "LIMIT_EXCEEDED" } });
  });

  it("cancels the child run with its own run, also if the child run may not have started", () => {
    for (const run of [parentRun(), waitingParent()]) {
      const { notices } = run.when(cancels).newEvent("cancel.requested");
      const notice_id = "ntc_hire_!cancel_0";
      expect(notices).toEqual([{ notice_id, topic: "run.cancelled", kin: "cancel", payload: { step_id: "ask" } }]);
    }
    const sends = given(accepts(plan(step("send", { tool: sendMail })))).when(cancels);
    expect(sends.newEvent("cancel.requested")).not.toHaveProperty("notices");
  });

  it("is recognised by the key of its signal", () => {
    expect(awaitedChildRun(childEndSignal(orderRun))).toBe(orderRun);
    expect(awaitedChildRun("paid")).toBeNull();
  });

  it.each<[string, object, string]>([
    ["no plan", {}, "/payload/plan: is missing"],
    ["a plan that is not an object", { plan: 7 }, "/payload/plan"],
    ["a context that is not an object", { plan: {}, context: [] }, "/payload/context"],
    ["an unknown field", { plan: {}, mode: "auto_exec" }, "/payload/mode: no such field"],
  ])("is refused with %s", (_, payload, reason) => {
    const steps = [{ step_id: "ask", kind: "run", payload }];
    expect(planReasons({ steps }).join("; ")).toContain(reason);
  });
});
