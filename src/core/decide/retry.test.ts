import { describe, expect, it } from "vitest";
import { later, noon, plan, readPage, type StepWish, sendMail, step } from "../../testing/given/cast.ts";
import { accepts, cancels, does, fails, resumes, saysNotDone, starts, undoes } from "../../testing/given/moves.ts";
import { given, type Move, pass, type Told } from "../../testing/given.ts";
import { type FaultCode, faults } from "../fault.ts";

const longAgo = 10 * 60 * 1000;

/** Fails with this fault until it is not tried again; answers with the waits in between, at the highest throw of the dice. */
function waits(code: FaultCode, wish: StepWish = {}): readonly number[] {
  let told = given(accepts(plan(step("a", { tool: readPage, ...wish })))).when(starts("a"));
  const list: number[] = [];
  for (;;) {
    told = told.when(fails("a", code, { dice: 0.999_999_999 }));
    const { retry_at } = told.said("step.failed");
    if (retry_at === null) return list;
    list.push(retry_at - told.now + 1);
    told = told.when(pass(longAgo), starts("a"));
  }
}

const failing = (wish: StepWish, ...moves: readonly Move[]): Told =>
  given(accepts(plan(step("a", wish)))).when(starts("a"), ...moves);

describe("trying again", () => {
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
  ] as const)("never happens after %s, whatever anyone asks for", (code) => {
    expect(waits(code, { retries: 5, on_failure: "retry", tool: { ...readPage, tries: 9 } })).toEqual([]);
  });

  it("is decided by the table alone: what is not worth another try has none", () => {
    const once = Object.entries(faults).filter(([code, { tries }]) => tries === 1 && code !== "TOOL_FAILED");
    for (const [code] of once) expect(waits(code as FaultCode, { on_failure: "retry" })).toEqual([]);
  });

  it("of a call that was never made is no try of the call, though it has an end of its own", () => {
    const wish = { tool: sendMail, retries: 0 };
    const unmade = failing(wish, saysNotDone("a", "CALL_NOT_MADE"));
    expect(unmade.said("step.failed").retry_at).not.toBeNull();
    expect(unmade.step("a")).toMatchObject({ attempts: 1, forgiven: 1 });
    const made = unmade.when(pass(longAgo), starts("a"), saysNotDone("a", "NETWORK_TIMEOUT"));
    expect(made.said("step.failed").retry_at).toBeNull();
    expect(waits("CALL_NOT_MADE", { retries: 0 })).toHaveLength(99);
  });

  it("waits no longer than the cap of its fault", () => {
    expect(waits("RATE_LIMIT", { retries: 8 })).toEqual([2000, 4000, 8000, 16_000, 32_000, 64_000, 120_000, 120_000]);
    expect(waits("TRANSIENT_DB_LOCK", { retries: 7 }).at(-1)).toBe(5000);
  });

  it("waits a full throw of the dice: from nothing to all of it", () => {
    const at = (dice: number) => failing({}, fails("a", "RATE_LIMIT", { dice })).said("step.failed").retry_at;
    expect(at(0)).toBe(noon);
    expect(at(0.25)).toBe(later(500));
    expect(at(0.5)).toBe(later(1000));
  });

  it("happens as often as the plan says, else the tool, else the fault", () => {
    const tool = { ...readPage, tries: 2 };
    expect(waits("NETWORK_TIMEOUT", { tool })).toHaveLength(1);
    expect(waits("NETWORK_TIMEOUT", { tool, retries: 4 })).toHaveLength(4);
    expect(waits("NETWORK_TIMEOUT", { tool, retries: 0 })).toHaveLength(0);
  });

  it("takes a fault without a name for one that passes, where the plan asks to retry", () => {
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
    const told = failing({ tool: sendMail }, cancels, saysNotDone("a", "RATE_LIMIT"));
    expect(told.states).toEqual({ a: "failed_final" });
    expect(told.run.ended?.status).toBe("cancelled");
  });

  it("forgets the tries before a resume, and not the attempts", () => {
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

  it("undoes what was done, however the run ended and whatever time it was given", () => {
    const tool = { ...sendMail, compensates: true };
    const done = given(accepts(plan(step("send", { tool }), step("a")), { deadline_at: later(1) })).when(does("send"));
    for (const over of [done.when(cancels), done.when(starts("a"), fails("a")), done.when(pass(5000))]) {
      const told = over.when(undoes("send"), starts("undo.send.1"), saysNotDone("undo.send.1", "RATE_LIMIT"));
      expect(told.states).toMatchObject({ "undo.send.1": "failed_retryable", send: "compensating" });
    }
  });

  it("gives an undo that is asked for again its tries again", () => {
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
