import { describe, expect, it } from "vitest";
import {
  accepts,
  cancels,
  delivers,
  does,
  fails,
  recovers,
  resumes,
  settles,
  starts,
} from "../../testing/given/commands.ts";
import { ana, noon, plan, readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenAction, type GivenRun, given, pass } from "../../testing/given/given.ts";
import { runStatus } from "../run/run.ts";
import { runResult } from "../run/run-result.ts";
import { nextWakeAt, runDueAt } from "../run/run-wakeups.ts";
import { workerRequirements } from "../run/worker-requirements.ts";
import type { Epoch, WorkerId } from "../values/ids.ts";
import type { Command, TakeoverClaim } from "./command.ts";

const worker = (nth: number) => `worker-${nth}` as WorkerId;
const taking = (nth: number): TakeoverClaim => ({
  by: worker(nth),
  from: worker(nth - 1),
  epoch: nth as Epoch,
  most: 3,
});

/** Worker n takes the run over from worker n - 1, which did not release it. */
const takes =
  (nth: number, running: string | null = null): GivenAction =>
  (scenario: GivenRun): Command =>
    ({ ...recovers(...(running === null ? [] : [{ id: running }]))(scenario), taken: taking(nth) }) as Command;

const reading = (...moves: readonly GivenAction[]): GivenRun =>
  given(accepts(plan(step("a", { tool: readPage }), step("b", { after: ["a"] })))).when(...moves);
const poisoned = (): GivenRun => reading(takes(2), takes(3), takes(4));

describe("a takeover of a run", () => {
  it("records both workers, the position and the steps that may have been running", () => {
    const scenario = reading(does("a"), pass(9), takes(2));
    expect(scenario.newEvent("run.taken")).toMatchObject({ by: worker(2), from: worker(1), epoch: 2, steps: ["b"] });
    expect(scenario.run.takeovers).toMatchObject([{ at: noon + 9, position: 3 }]);
    expect(runStatus(scenario.run)).toBe("running");
  });

  it("lists at most ten steps", () => {
    const ids = Array.from({ length: 12 }, (_, nth) => `s${nth}`);
    const scenario = given(accepts(plan(...ids.map((id) => step(id, { tool: readPage }))))).when(takes(2));
    expect(scenario.newEvent("run.taken").steps).toEqual(ids.slice(0, 10));
  });

  it("parks the run at the third takeover without progress, with a notice", () => {
    expect(reading(takes(2), takes(3)).run.parked).toBeNull();
    const scenario = poisoned();
    const notices = scenario.newEvent("run.poisoned").notices;
    expect(notices).toMatchObject([{ topic: "run.poisoned", payload: { takeovers: 3, steps: ["a"] } }]);
    expect(runStatus(scenario.run)).toBe("poison");
    expect(runDueAt(scenario.run)).toBeNull();
    expect(workerRequirements(scenario.run)).toEqual(["notice"]);
    expect(workerRequirements(scenario.when(delivers(notices[0]?.notice_id ?? "")).run)).toEqual([]);
  });

  it("lists retrying steps, and its notice has an id that no step notice has", () => {
    const scenario = given(accepts(plan(step("a", { tool: readPage }), step("b", { after: ["a"] })))).when(
      starts("a"),
      fails("a", "RATE_LIMIT"),
      takes(2),
      takes(3),
      takes(4),
    );
    const { notices, ...poisoned } = scenario.newEvent("run.poisoned");
    expect(poisoned).toMatchObject({ type: "run.poisoned" });
    expect(notices).toMatchObject([
      { notice_id: `ntc_hire_!poison_${scenario.run.position}`, payload: { steps: ["a"] } },
    ]);
  });

  it("starts a new count after progress of the run", () => {
    expect(reading(takes(2), takes(3), does("a"), takes(4), takes(5)).run.parked).toBeNull();
    expect(reading(takes(2), takes(3), starts("a"), fails("a", "RATE_LIMIT"), takes(4)).run.parked).toBeNull();
  });

  it("is not recorded while the run only waits", () => {
    const waiting = given(accepts(plan(step("send", { tool: sendMail })), { mode: "human_gated" })).when(
      starts("send"),
    );
    expect(waiting.when(takes(2)).newEvents).toEqual([]);
    expect(reading(does("a"), does("b")).when(takes(2)).newEvents).toEqual([]);
  });

  it("counts although a call started, if the call was interrupted and may run again", () => {
    const promises = { ...sendMail, idempotentForMs: 600_000 };
    const scenario = given(accepts(plan(step("send", { tool: promises })))).when(
      starts("send"),
      takes(2, "send"),
      settles("send", null),
      starts("send"),
      takes(3, "send"),
      pass(1000),
      settles("send", null),
      starts("send"),
      takes(4, "send"),
    );
    expect(scenario.run.parked).not.toBeNull();
  });
});

describe("a parked run", () => {
  it("starts no step, settles no doubt and has no timer", () => {
    const scenario = poisoned();
    expect(scenario.when(starts("a")).newEvents).toEqual([]);
    expect(scenario.when(starts("a")).decision.grant).toBeNull();
    const wakes = reading(starts("a"), fails("a", "RATE_LIMIT"), pass(3000), takes(2), takes(3), takes(4));
    expect(nextWakeAt(wakes.run)).toBeNull();
  });

  it("leaves a running act in doubt, and does not verify it", () => {
    const verifiable = { ...sendMail, verifies: true };
    const scenario = given(accepts(plan(step("send", { tool: verifiable }), step("a")))).when(
      takes(2),
      takes(3),
      starts("send"),
      takes(4, "send"),
    );
    expect(scenario.states).toMatchObject({ send: "in_doubt" });
    expect(scenario.when(settles("send", { saw: "absent" })).newEvents).toEqual([]);
  });

  it("shows its takeovers and the next action", () => {
    const result = runResult(poisoned().run);
    expect(result).toMatchObject({ status: "partial", final: false, poison: { since: noon } });
    expect(result.poison?.takeovers.map(({ from }) => from)).toEqual([worker(1), worker(2), worker(3)]);
    expect(result.next).toContain("resume run");
    expect(runResult(reading(takes(2)).run)).not.toHaveProperty("poison");
  });

  it("continues when a person resumes it, with its takeovers reset and nothing else changed", () => {
    const scenario = poisoned().when(resumes);
    expect(scenario.newEvent("run.resumed")).toMatchObject({ by: ana.id });
    expect(scenario.run).toMatchObject({ parked: null, takeovers: [] });
    expect(scenario.when(does("a"), does("b")).run.ended?.status).toBe("completed");
    expect(scenario.when(takes(5), takes(6)).run.parked).toBeNull();
    expect(scenario.when(takes(5), takes(6), takes(7)).run.parked).not.toBeNull();
  });

  it("does not reset earlier failed steps on a resume", () => {
    const failing = plan(step("a", { on_failure: "skip" }), step("b"));
    const scenario = given(accepts(failing)).when(
      starts("a"),
      fails("a", "POLICY_DENIED"),
      takes(2),
      takes(3),
      takes(4),
    );
    expect(scenario.when(resumes).states).toEqual({ a: "skipped", b: "ready" });
  });

  it.each(["agent", "service"] as const)("is not resumed by an %s", (kind) => {
    const scenario = poisoned();
    const resume = {
      type: "resume",
      verb: "resume:parked",
      now: scenario.now,
      principal: { ...ana, kind },
      reason: "",
    } as const;
    expect(scenario.when(resume).decision.refusal).toMatchObject({ code: "AUTH_FORBIDDEN" });
    expect(scenario.when(resume).run.parked).not.toBeNull();
  });

  it("can be cancelled like any run", () => {
    const { run } = poisoned().when(cancels);
    expect(runStatus(run)).toBe("cancelled");
    expect(runResult(run)).not.toHaveProperty("poison");
  });
});
