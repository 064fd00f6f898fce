import { describe, expect, it } from "vitest";
import { reasonsFor } from "../../tests/plan-stage.ts";
import { hire, order, plan, sendMail, step } from "../testing/given/cast.ts";
import { accepts, cancels, delivers, does, fails, starts } from "../testing/given/moves.ts";
import { given, type Told } from "../testing/given.ts";
import { awaitedRun, endSignal } from "./child.ts";
import type { Parent } from "./event.ts";
import { fault } from "./fault.ts";
import type { Instant, StepId } from "./id.ts";
import type { BoxVersion } from "./parking.ts";
import { resultOf } from "./result.ts";
import { dueAt } from "./run.ts";
import type { SignalSent } from "./signal.ts";

const parent: Parent = { run_id: order, step_id: "ask" as StepId, depth: 1, most_bytes: 20 };
const born = (...steps: readonly ReturnType<typeof step>[]): Told => given(accepts(plan(...steps), { parent }));
const noticeOf = (told: Told) => told.said("run.ended").notices?.[0];

describe("a run that a step asked for", () => {
  it("reports what its last steps answered when it has ended, and is due until someone has carried that", () => {
    const told = born(step("a"), step("b", { after: ["a"] }), step("c")).when(does("a"), does("b", 2), does("c", 3));
    const payload = { run_id: hire, status: "completed", outputs: { b: 2, c: 3 }, failed: [] };
    const notice_id = `ntc_hire_!report_${told.run.position}`;
    expect(noticeOf(told)).toEqual({ notice_id, topic: "run.ended", kin: "report", payload });
    expect(dueAt(told.run)).not.toBeNull();
    expect(dueAt(told.when(delivers(noticeOf(told)?.notice_id ?? "")).run)).toBeNull();
  });

  it("shows nothing if what its last steps answered is more than the step that asked may have", () => {
    const shows = (...texts: readonly string[]) =>
      noticeOf(born(step("a"), step("b")).when(does("a", texts[0]), does("b", texts[1])))?.payload;
    expect(shows("x".repeat(8), "y".repeat(8))).toMatchObject({ outputs: { a: "x".repeat(8), b: "y".repeat(8) } });
    expect(shows("x".repeat(8), "y".repeat(9))).toEqual({
      run_id: hire,
      status: "completed",
      outputs: {},
      failed: [],
      too_long: 20,
    });
    expect(shows("x".repeat(8), "é".repeat(5))).toMatchObject({ too_long: 20 });
  });

  it("reports of what it failed", () => {
    const told = born(step("a")).when(starts("a"), fails("a", "POLICY_DENIED"));
    expect(noticeOf(told)?.payload).toMatchObject({
      status: "failed",
      failed: [{ step_id: "a", code: "POLICY_DENIED" }],
    });
    const refused = born(step("a")).when(starts("a", { flaw: fault("INVALID_INPUT", "no") }));
    expect(noticeOf(refused)?.payload).toMatchObject({
      failed: [{ step_id: "a", code: "INVALID_INPUT", message: "no" }],
    });
  });

  it("names ten of those that failed, however many there are", () => {
    const ids = Array.from({ length: 12 }, (_, nth) => `s${nth}`);
    const told = born(...ids.map((id) => step(id, { on_failure: "skip" }))).when(
      ...ids.flatMap((id) => [starts(id), fails(id, "POLICY_DENIED")]),
    );
    const failed = ids.slice(0, 10).map((step_id) => expect.objectContaining({ step_id }));
    expect(noticeOf(told)?.payload).toMatchObject({ failed });
  });

  it("has another notice each time it ends", () => {
    const first = born(step("a")).when(starts("a"), fails("a", "POLICY_DENIED"));
    const again = first.when({ type: "resume", now: first.now, principal: first.run.principal, reason: "" }, does("a"));
    expect(noticeOf(again)?.notice_id).not.toBe(noticeOf(first)?.notice_id);
  });

  it("has nobody to report to, if nobody asked for it", () => {
    expect(
      given(accepts(plan(step("a"))))
        .when(does("a"))
        .said("run.ended"),
    ).not.toHaveProperty("notices");
  });
});

const asks = step("ask", { kind: "run", name: "run", payload: { plan: {} } });
const box: BoxVersion = { key: endSignal(order), version: 0, sent: 0, taken: 0, waiters: [] };
const asked = (): Told => given(accepts(plan(asks, step("then", { after: ["ask"] }))));
const waits = () => asked().when(starts("ask", { signal: { box, next: null } }));
const told = (payload: object): Pick<SignalSent, "signal_id" | "payload" | "by" | "at"> => ({
  signal_id: "sig_1",
  payload: payload as never,
  by: order,
  at: 7 as Instant,
});

describe("a step that asks for a run", () => {
  it("asks for nothing before it is sure that it may", () => {
    const { decision, news } = asked().when(starts("ask"));
    expect(decision.need).toBe("child");
    expect(news).toEqual([]);
  });

  it("waits for its end, which is nobody's to bring about", () => {
    expect(waits().states).toMatchObject({ ask: "waiting" });
    expect(resultOf(waits().run)).toMatchObject({ blocked_on: [{ reason_code: "WAITING_FOR_RUN", run_id: order }] });
    expect(resultOf(waits().run).next).toContain(order);
  });

  it.each([
    ["completed", "succeeded"],
    ["partial", "failed_final"],
    ["failed", "failed_final"],
    ["cancelled", "failed_final"],
  ])("of a run that is %s has %s", (status, state) => {
    const report = told({ run_id: order, status, outputs: { x: 1 }, failed: [] });
    const sent = { ...box, sent: 1 };
    const after = asked().when(starts("ask", { signal: { box: sent, next: report } }));
    expect(after.step("ask").standing.state).toBe(state);
    expect(after.news[0]).toMatchObject({ signal: { signal_id: "sig_1", taken: 1, version: 1 } });
  });

  it("has failed, if the run has more to show than it may have", () => {
    const report = told({ run_id: order, status: "completed", outputs: {}, failed: [], too_long: 20 });
    const after = asked().when(starts("ask", { signal: { box: { ...box, sent: 1 }, next: report } }));
    expect(after.step("ask").standing).toMatchObject({ state: "failed_final", fault: { code: "LIMIT_EXCEEDED" } });
  });

  it("is not sure of what it asked for when it is cancelled, and takes it back in any case", () => {
    for (const run of [asked(), waits()]) {
      const { notices } = run.when(cancels).said("cancel.requested");
      const notice_id = "ntc_hire_!cancel_0";
      expect(notices).toEqual([{ notice_id, topic: "run.cancelled", kin: "cancel", payload: { step_id: "ask" } }]);
    }
    const sends = given(accepts(plan(step("send", { tool: sendMail })))).when(cancels);
    expect(sends.said("cancel.requested")).not.toHaveProperty("notices");
  });

  it("is told from a wait by the name of its signal", () => {
    expect(awaitedRun(endSignal(order))).toBe(order);
    expect(awaitedRun("paid")).toBeNull();
  });

  it.each<[string, object, string]>([
    ["no plan", {}, "/payload/plan: is missing"],
    ["a plan that is none", { plan: 7 }, "/payload/plan"],
    ["a context that is none", { plan: {}, context: [] }, "/payload/context"],
    ["more than that", { plan: {}, mode: "auto_exec" }, "/payload/mode: no such field"],
  ])("is refused with %s", (_, payload, reason) => {
    const steps = [{ step_id: "ask", kind: "run", payload }];
    expect(reasonsFor({ steps }).join("; ")).toContain(reason);
  });
});
