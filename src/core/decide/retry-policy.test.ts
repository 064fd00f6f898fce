import { describe, expect, it } from "vitest";
import { accepts, cancels, does, fails, resumes, saysNotDone, starts, undoes } from "../../testing/given/commands.ts";
import { later, noon, plan, readPage, type StepOptions, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenAction, type GivenRun, given, pass } from "../../testing/given/given.ts";
import { type FaultCode, faults } from "../values/fault.ts";

const longAgo = 10 * 60 * 1000;

/** Fails with this fault until there is no retry. Returns the waits in between, at the highest random number. */
function waits(code: FaultCode, wish: StepOptions = {}): readonly number[] {
  let scenario = given(accepts(plan(step("a", { tool: readPage, ...wish })))).when(starts("a"));
  const list: number[] = [];
  for (;;) {
    scenario = scenario.when(fails("a", code, { dice: 0.999_999_999 }));
    const { retry_at } = scenario.newEvent("step.failed");
    if (retry_at === null) return list;
    list.push(retry_at - scenario.now + 1);
    scenario = scenario.when(pass(longAgo), starts("a"));
  }
}

const failing = (wish: StepOptions, ...moves: readonly GivenAction[]): GivenRun =>
  given(accepts(plan(step("a", wish)))).when(starts("a"), ...moves);

describe("a retry", () => {
  it.each([
    ["RATE_LIMIT", [2000, 4000, 8000, 16_000]],
    ["NETWORK_TIMEOUT", [1000, 2000]],
    ["TEMPORARY_PROVIDER_ERROR", [1000, 2000]],
    ["DEPENDENCY_UNAVAILABLE", [1000, 2000]],
    ["TRANSIENT_DB_LOCK", [100, 200, 400, 800]],
    ["TOOL_TIMEOUT", [1000, 2000]],
  ] as const)("after %s waits at most %j ms", (code, most) => {
    expect(waits(code)).toEqual(most);
  });

  it.each([
    "POLICY_DENIED",
    "INVALID_INPUT",
    "AUTH_FORBIDDEN",
    "SCHEMA_VALIDATION_FAILED",
    "MISSING_REQUIRED_CONTEXT",
  ] as const)("never happens after %s, independent of plan and tool", (code) => {
    expect(waits(code, { retries: 5, on_failure: "retry", tool: { ...readPage, tries: 9 } })).toEqual([]);
  });

  it("happens only after faults with more than one try in the table", () => {
    const once = Object.entries(faults).filter(([code, { tries }]) => tries === 1 && code !== "TOOL_FAILED");
    for (const [code] of once) expect(waits(code as FaultCode, { on_failure: "retry" })).toEqual([]);
  });

  it("after any error happens only if the plan or the tool asks for it", () => {
    const any = { ...readPage, retry: "any" } as const;
    expect(waits("TOOL_FAILED", { tool: { ...readPage, tries: 9 } })).toEqual([]);
    expect(waits("TOOL_FAILED", { tool: any })).toEqual([1000, 2000, 4000]);
    expect(waits("TOOL_FAILED", { tool: { ...any, tries: 2 } })).toEqual([1000]);
    expect(waits("TOOL_FAILED", { tool: any, retries: 0 })).toEqual([]);
    expect(waits("POLICY_DENIED", { tool: any })).toEqual([]);
  });

  it("never follows the timeout of a call that asks a model", () => {
    const model = { ...readPage, asks: "model", tries: 9, retry: "any" } as const;
    expect(waits("TOOL_TIMEOUT", { tool: model, retries: 9 })).toEqual([]);
    expect(waits("RATE_LIMIT", { tool: { ...model, tries: 2 } })).toEqual([2000]);
  });

  it("after a call that was never made does not count as an attempt, but has its own limit", () => {
    const wish = { tool: sendMail, retries: 0 };
    const unmade = failing(wish, saysNotDone("a", "CALL_NOT_MADE"));
    expect(unmade.newEvent("step.failed").retry_at).not.toBeNull();
    expect(unmade.step("a")).toMatchObject({ attempts: 1, forgiven: 1 });
    const made = unmade.when(pass(longAgo), starts("a"), saysNotDone("a", "NETWORK_TIMEOUT"));
    expect(made.newEvent("step.failed").retry_at).toBeNull();
    expect(waits("CALL_NOT_MADE", { retries: 0 })).toHaveLength(99);
  });

  it("waits at most the cap of its fault", () => {
    expect(waits("RATE_LIMIT", { retries: 8 })).toEqual([2000, 4000, 8000, 16_000, 32_000, 64_000, 120_000, 120_000]);
    expect(waits("TRANSIENT_DB_LOCK", { retries: 7 }).at(-1)).toBe(5000);
  });

  it("has full jitter: from zero to the whole wait", () => {
    const at = (dice: number) => failing({}, fails("a", "RATE_LIMIT", { dice })).newEvent("step.failed").retry_at;
    expect(at(0)).toBe(noon);
    expect(at(0.25)).toBe(later(500));
    expect(at(0.5)).toBe(later(1000));
  });

  it("happens as often as the plan, else the tool, else the fault allows", () => {
    const tool = { ...readPage, tries: 2 };
    expect(waits("NETWORK_TIMEOUT", { tool })).toHaveLength(1);
    expect(waits("NETWORK_TIMEOUT", { tool, retries: 4 })).toHaveLength(4);
    expect(waits("NETWORK_TIMEOUT", { tool, retries: 0 })).toHaveLength(0);
  });

  it("happens after TOOL_FAILED if the plan says retry", () => {
    expect(waits("TOOL_FAILED")).toEqual([]);
    expect(waits("TOOL_FAILED", { on_failure: "retry" })).toEqual([1000, 2000, 4000]);
    expect(waits("TOOL_FAILED", { on_failure: "retry", retries: 1 })).toEqual([1000]);
  });

  it("does not happen at or after the deadline of the run", () => {
    const until = (deadline: number) =>
      given(accepts(plan(step("a")), { deadline_at: later(deadline) })).when(starts("a"), fails("a", "RATE_LIMIT"));
    expect(until(1000).states).toEqual({ a: "failed_final" });
    expect(until(1001).states).toEqual({ a: "failed_retryable" });
  });

  it("does not happen in a cancelled run", () => {
    const scenario = failing({ tool: sendMail }, cancels, saysNotDone("a", "RATE_LIMIT"));
    expect(scenario.states).toEqual({ a: "failed_final" });
    expect(scenario.run.ended?.status).toBe("cancelled");
  });

  it("counts attempts anew after a resume, but keeps their numbers", () => {
    const failed = failing(
      { retries: 1 },
      fails("a", "RATE_LIMIT"),
      pass(longAgo),
      starts("a"),
      fails("a", "RATE_LIMIT"),
    );
    expect(failed.states).toEqual({ a: "failed_final" });
    const resumed = failed.when(resumes, starts("a"), fails("a", "RATE_LIMIT", { dice: 0.5 }));
    expect(resumed.step("a")).toMatchObject({ attempts: 3, forgiven: 2 });
    expect(resumed.standing("a")).toMatchObject({ state: "failed_retryable", retry_at: later(longAgo + 1000) });
    expect(resumed.run.spent.attempts).toBe(3);
  });

  it("of an undo happens also in an ended run and after its deadline", () => {
    const tool = { ...sendMail, compensates: true };
    const done = given(accepts(plan(step("send", { tool }), step("a")), { deadline_at: later(1) })).when(does("send"));
    for (const over of [done.when(cancels), done.when(starts("a"), fails("a")), done.when(pass(5000))]) {
      const scenario = over.when(undoes("send"), starts("undo.send.1"), saysNotDone("undo.send.1", "RATE_LIMIT"));
      expect(scenario.states).toMatchObject({ "undo.send.1": "failed_retryable", send: "compensating" });
    }
  });

  it("limit starts again for an undo that is requested again", () => {
    const tool = { ...sendMail, compensates: true, tries: 1 };
    const failed = given(accepts(plan(step("send", { tool })))).when(
      does("send"),
      undoes("send", { ...tool, tries: 2 }),
      starts("undo.send.1"),
      saysNotDone("undo.send.1", "RATE_LIMIT"),
    );
    expect(failed.states).toEqual({ send: "compensation_failed", "undo.send.1": "failed_final" });
    const patient = { tool: { ...tool, tries: 2 } };
    const again = failed.when(undoes("send"), starts("undo.send.1", patient), saysNotDone("undo.send.1", "RATE_LIMIT"));
    expect(again.states).toEqual({ send: "compensating", "undo.send.1": "failed_retryable" });
    expect(again.step("undo.send.1")).toMatchObject({ attempts: 2, forgiven: 1 });
  });
});
