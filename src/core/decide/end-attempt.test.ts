import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  cancels,
  does,
  ends,
  fails,
  invalidOutput,
  rejects,
  resolves,
  resumes,
  saysNotDone,
  starts,
  timesOut,
} from "../../testing/given/commands.ts";
import {
  addUp,
  cost,
  fakeKey,
  keepNote,
  later,
  noon,
  plan,
  readPage,
  sendMail,
  step,
} from "../../testing/given/fixtures.ts";
import { type GivenAction, type GivenRun, given, pass } from "../../testing/given/given.ts";
import type { ToolFacts } from "../call/proposal.ts";
import { fault } from "../values/fault.ts";
import type { Digest, StepId } from "../values/ids.ts";
import type { FollowUpStep } from "./command.ts";

const running = (tool: ToolFacts): GivenRun => given(accepts(plan(step("do", { tool })))).when(starts("do"));
const scenario = (tool: ToolFacts, ...moves: readonly GivenAction[]) => running(tool).when(...moves);
const row = (after: GivenRun) => after.ledgerRow(fakeKey("do"));

describe.each([
  ["pure", addUp, "pure"],
  ["reads", readPage, "pure"],
  ["writes", keepNote, "state_changed"],
] as const)("the end of an attempt of a tool that is %s", (_, tool, world) => {
  it("succeeds with a value", () => {
    const after = scenario(tool, answers("do", { sum: 4 }));
    expect(after.newEvent("step.succeeded")).toEqual({
      type: "step.succeeded",
      at: noon,
      step_id: "do",
      attempt: 1,
      started_at: noon,
      output: { sum: 4 },
      world,
    });
    expect(after.step("do")).toMatchObject({ standing: { state: "succeeded" }, act: null, world });
  });

  it("fails finally with an invalid output", () => {
    const after = scenario(tool, answers("do", 1, { flaw: invalidOutput }));
    expect(after.newEvent("step.failed")).toMatchObject({
      fault: invalidOutput,
      retry_at: null,
      world: "permanent_failure",
    });
    expect(after.newEvent("step.failed").output).toBeUndefined();
  });

  it.each([
    ["a not_done result", saysNotDone("do", "NETWORK_TIMEOUT")],
    ["an error", fails("do", "NETWORK_TIMEOUT")],
    ["a timeout", timesOut("do", "TOOL_TIMEOUT")],
  ])("leads to a retry, depending on the fault, after %s", (_how, move) => {
    expect(scenario(tool, move).newEvent("step.failed")).toMatchObject({
      retry_at: later(500),
      world: "retryable_failure",
    });
  });

  it.each([
    ["a not_done result", saysNotDone("do", "INVALID_INPUT")],
    ["an error", fails("do", "INVALID_INPUT")],
    ["an abort", timesOut("do", "CANCELLED")],
  ])("fails finally, depending on the fault, after %s", (_how, move) => {
    expect(scenario(tool, move).newEvent("step.failed")).toMatchObject({ retry_at: null, world: "permanent_failure" });
    expect(scenario(tool, move).states).toEqual({ do: "failed_final" });
  });

  it("is ignored when it comes late", () => {
    const after = scenario(tool, timesOut("do")).when(answers("do", { late: true }));
    expect(after.newEvents).toEqual([]);
  });
});

describe("the end of an act", () => {
  it("commits with a value, which is the receipt", () => {
    const after = scenario(sendMail, answers("do", { id: "m1" }));
    expect(after.newEvent("step.succeeded")).toMatchObject({
      world: "side_effect_committed",
      ledger: { version: 2, generation: 1 },
    });
    expect(after.step("do")).toMatchObject({
      world: "side_effect_committed",
      act: { output: { id: "m1" }, receipt: 3 },
    });
    expect(row(after)).toMatchObject({ state: "committed", receipt: 3, usable: true });
  });

  it("commits with an invalid output, which no step uses, and is not retried", () => {
    const after = scenario(sendMail, answers("do", "what?", { flaw: { ...invalidOutput, code: "RATE_LIMIT" } }));
    expect(after.newEvent("step.failed")).toMatchObject({
      output: "what?",
      retry_at: null,
      world: "compensatable_failure",
      ledger: { version: 2, generation: 1 },
    });
    expect(after.states).toEqual({ do: "failed_final" });
    expect(row(after)).toMatchObject({ state: "committed", receipt: 3, usable: false });
  });

  it("records null as a receipt", () => {
    const after = scenario(sendMail, answers("do", null, { flaw: invalidOutput }));
    const kept = given(...(JSON.parse(JSON.stringify(after.events)) as typeof after.events));
    expect(row(kept)).toMatchObject({ state: "committed", receipt: 3, usable: false });
  });

  it("is not_done if the tool reports it, and a retry keeps key and generation", () => {
    const failed = scenario(sendMail, saysNotDone("do", "RATE_LIMIT"));
    expect(failed.newEvent("step.failed")).toMatchObject({
      retry_at: later(1000),
      ledger: { version: 2, generation: 1 },
    });
    expect(row(failed)).toMatchObject({ state: "not_done", receipt: null, usable: true });
    const again = failed.when(pass(1000), starts("do"));
    expect(again.newEvent("step.started")).toMatchObject({
      attempt: 2,
      call: { key: fakeKey("do") },
      ledger: { version: 3, generation: 1 },
    });
  });

  it("is not_done and fails finally if the fault is permanent", () => {
    const after = scenario(sendMail, saysNotDone("do", "INVALID_INPUT"));
    expect(after.states).toEqual({ do: "failed_final" });
    expect(row(after)).toMatchObject({ state: "not_done" });
  });

  it("is in doubt after an error", () => {
    const after = scenario(sendMail, fails("do", "RATE_LIMIT"));
    expect(after.newEvent("step.doubted")).toMatchObject({
      fault: { code: "OUTCOME_UNKNOWN", detail: { code: "RATE_LIMIT" } },
      ledger: { version: 2, generation: 1 },
    });
    expect(after.step("do")).toMatchObject({ standing: { state: "in_doubt", since: noon }, world: "in_doubt" });
    expect(row(after)).toMatchObject({ state: "in_doubt", receipt: null });
  });

  it("is not_done after an error if the tool declares errorsMean not_done", () => {
    const after = scenario({ ...sendMail, errorsMean: "not_done" }, fails("do", "RATE_LIMIT"));
    expect(after.newEvent("step.failed").retry_at).toBe(later(1000));
    expect(row(after)).toMatchObject({ state: "not_done" });
  });

  it.each(["unknown", "not_done"] as const)(
    "is in doubt after a timeout, independent of errorsMean (%s)",
    (errorsMean) => {
      const after = scenario({ ...sendMail, errorsMean }, timesOut("do"));
      expect(after.states).toEqual({ do: "in_doubt" });
    },
  );

  it("records how the doubt can be settled, as the tool declares it", () => {
    const tool = { ...sendMail, verifies: true, idempotentForMs: 600_000 };
    const after = scenario(tool, pass(1000), timesOut("do"));
    expect(after.newEvent("step.doubted").exits).toEqual({
      verify: true,
      resend_until: later(600_000 - 30_000 - 60_000),
      quiet_at: later(1000 + 30_000 + 60_000),
    });
  });

  it("uses the timeout of the plan for the quiet time", () => {
    const tool = { ...sendMail, idempotentForMs: 600_000 };
    const slow = given(accepts(plan(step("do", { tool, timeout_ms: 100_000 })))).when(starts("do"), timesOut("do"));
    expect(slow.newEvent("step.doubted").exits).toMatchObject({
      resend_until: later(600_000 - 100_000 - 60_000),
      quiet_at: later(100_000 + 60_000),
    });
  });

  it("is the end of an act if the plan or the tool declares it", () => {
    const worse = given(accepts(plan(step("do", { tool: addUp, effect: "acts" })))).when(starts("do"));
    expect(worse.when(timesOut("do")).states).toEqual({ do: "in_doubt" });
    const milder = given(accepts(plan(step("do", { tool: sendMail, effect: "pure" })))).when(starts("do"));
    expect(milder.when(timesOut("do")).states).toEqual({ do: "in_doubt" });
  });
});

describe("a late value", () => {
  const doubted = scenario(sendMail, timesOut("do"));

  it("settles an act in doubt", () => {
    const after = doubted.when(pass(5000), answers("do", { id: "late" }));
    expect(after.newEvent("step.succeeded")).toMatchObject({
      at: later(5000),
      output: { id: "late" },
      ledger: { version: 3 },
    });
    expect(row(after)).toMatchObject({ state: "committed" });
    expect(after.run.spent.attempts).toBe(1);
  });

  it("settles an act in doubt also if it is invalid", () => {
    const after = doubted.when(answers("do", "what?", { flaw: invalidOutput }));
    expect(after.states).toEqual({ do: "failed_final" });
    expect(row(after)).toMatchObject({ state: "committed", usable: false });
  });

  it("is kept as evidence after a person has settled the doubt", () => {
    const after = doubted.when(resolves("do", { as: "give_up" })).when(answers("do", { id: "late" }));
    expect(after.newEvent("evidence.kept")).toMatchObject({ attempt: 1, evidence: { id: "late" } });
    expect(after.states).toEqual({ do: "failed_final" });
    expect(after.run.ended?.status).toBe("failed");
  });

  it("is kept as evidence while another attempt runs, and does not end that attempt", () => {
    const first = doubted.grant("do");
    const second = doubted.when(resolves("do", { as: "absent" }), starts("do"));
    const after = second.when(answers("do", { id: "late" }, { grant: first }));
    expect(after.newEventTypes).toEqual(["evidence.kept"]);
    expect(after.standing("do")).toMatchObject({ state: "running", attempt: 2 });
  });

  it("settles a doubt, but a late error does not", () => {
    expect(doubted.when(fails("do")).newEvents).toEqual([]);
    expect(doubted.when(saysNotDone("do")).newEvents).toEqual([]);
  });

  it("is kept as evidence for a recorded attempt without an act", () => {
    const gated = given(accepts(plan(step("do", { tool: readPage, gate: "human_confirm" }))));
    const late = gated.when(starts("do"), approves("do"), starts("do"), fails("do"), answers("do", 7));
    expect(late.newEventTypes.at(-1)).toBe("evidence.kept");
    expect(late.run.ended?.status).toBe("failed");
  });
});

describe("the event that ends an attempt", () => {
  it("stores an input that differs from the payload of the plan, once", () => {
    const bound = given(accepts(plan(step("do")))).when(starts("do", { input: { bound: 1 }, derived: true }));
    expect(bound.when(answers("do")).newEvent("step.succeeded").input).toEqual({ bound: 1 });
    expect(bound.when(fails("do")).newEvent("step.failed").input).toEqual({ bound: 1 });
    const act = given(accepts(plan(step("do", { tool: sendMail })))).when(starts("do", { derived: true }));
    expect(act.when(answers("do")).newEvent("step.succeeded").input).toBeUndefined();
  });

  it("records the cost and the charged tallies", () => {
    const after = scenario(readPage, answers("do", null, { cost: cost(120, { tokens_in: 5 }) }));
    expect(after.newEvent("step.succeeded")).toMatchObject({
      cost: { usd_micros: 120, tokens_in: 5 },
      charges: [
        { tally: "usd_micros/principal/2026-03-14/robin", amount: 120 },
        { tally: "usd_micros/tenant/2026-03", amount: 120 },
        { tally: "tokens_in/principal/2026-03-14/robin", amount: 5 },
        { tally: "tokens_in/tenant/2026-03", amount: 5 },
      ],
    });
    expect(after.run.spent).toEqual({ usd_micros: 120, credits: 0, tokens_in: 5, tokens_out: 0, attempts: 1 });
  });

  it("adds the cost of failed and doubted attempts, each once", () => {
    const after = scenario(sendMail, saysNotDone("do", "RATE_LIMIT", { cost: cost(1) }), pass(9000), starts("do")).when(
      timesOut("do", "TOOL_TIMEOUT", { cost: cost(10) }),
      answers("do", null, { cost: cost(100) }),
    );
    expect(after.run.spent).toMatchObject({ usd_micros: 111, attempts: 2 });
    expect(scenario(sendMail, answers("do")).run.spent.attempts).toBe(1);
  });

  it("records the provenance of an outcome", () => {
    const reuse = { key: "terms" as Digest, ttlMs: null };
    const pinned = { tools: { "page.read": { version: "3", schema_hash: "h" as Digest } } };
    const draft = step("do", {
      tool: readPage,
      outcome: { type: "draft.mail", status: "draft" },
      gate: "human_confirm",
    });
    const after = given(accepts(plan(draft), pinned)).when(starts("do"), approves("do"), starts("do"));
    expect(after.when(answers("do", null, { reuse })).newEvent("step.succeeded").outcome).toEqual({
      outcome_id: "out_hire_do",
      type: "draft.mail",
      status: "draft",
      input_digest: after.gate("do").call.digest,
      tool: "page.read@3",
      reuse_key: "terms",
    });
    expect(scenario(readPage, answers("do")).newEvent("step.succeeded").outcome).toBeUndefined();
  });

  it("records notices, which remain until they are delivered", () => {
    const notices = [{ notice_id: "n1", topic: "t", payload: 1 }];
    const after = scenario(addUp, answers("do", null, { notices }));
    expect(after.newEvent("step.succeeded").notices).toEqual(notices);
    expect(after.run.notices.get("n1")).toEqual(notices[0]);
    expect(after.run.ended?.status).toBe("completed");
  });
});

describe("an errand", () => {
  const errand = (id: string): FollowUpStep => ({
    step: step(id, { tool: sendMail, on_failure: "skip", on_rejected: "continue" }),
    pin: null,
    cause: { by: "errand", of: "do" as StepId },
  });
  const errands = [errand("do.1"), errand("do.2")];

  it("becomes a step of the run when its parent succeeds, and passes all stages", () => {
    const after = scenario(sendMail, answers("do", null, { errands }));
    expect(after.newEventTypes).toEqual(["step.succeeded", "step.proposed", "step.proposed"]);
    expect(after.decision.fresh).toEqual([1, 2]);
    expect(after.states).toEqual({ do: "succeeded", "do.1": "ready", "do.2": "ready" });
    expect(after.when(does("do.1"), does("do.2")).run.ended?.status).toBe("completed");
  });

  it("is not added by a failed parent", () => {
    expect(scenario(addUp, fails("do", "TOOL_FAILED", { errands })).newEventTypes).toEqual([
      "step.failed",
      "run.ended",
    ]);
  });

  it("is cancelled with its run, also if its parent succeeds after the cancellation", () => {
    const after = scenario(sendMail, cancels, answers("do", null, { errands }));
    expect(after.states).toEqual({ do: "succeeded", "do.1": "cancelled", "do.2": "cancelled" });
    expect(after.run.ended?.status).toBe("cancelled");
  });

  it("does not start after a step has ended the plan", () => {
    const two = given(accepts(plan(step("do", { tool: sendMail }), step("b")))).when(
      starts("do"),
      starts("b"),
      fails("b"),
    );
    const after = two.when(answers("do", null, { errands: [errand("do.1")] }));
    expect(after.states).toEqual({ do: "succeeded", b: "failed_final", "do.1": "skipped" });
    expect(after.when(resumes).states).toMatchObject({ b: "ready", "do.1": "ready" });
  });

  it("is not added if its id belongs to another step", () => {
    const after = scenario(sendMail, answers("do", null, { errands: [errand("do.1"), errand("do")] }));
    expect(after.newEventTypes).toEqual(["step.succeeded", "step.proposed"]);
  });
});

describe("the end of an attempt while others run", () => {
  const three = given(accepts(plan(step("a", { tool: readPage }), step("b"), step("send", { tool: sendMail }))));

  it("does not skip steps in flight, recorded or not, and skips the others", () => {
    const more = given(
      accepts(plan(step("a", { tool: readPage }), step("b"), step("send", { tool: sendMail }), step("c"))),
    );
    const after = more.when(starts("a"), starts("send"), starts("b"), fails("b", "TOOL_FAILED", { inFlight: ["a"] }));
    expect(after.states).toEqual({ a: "ready", b: "failed_final", send: "running", c: "skipped" });
    const over = after.when(answers("a"), answers("send"));
    expect(over.states).toEqual({ a: "succeeded", b: "failed_final", send: "succeeded", c: "skipped" });
    expect(over.run.ended?.status).toBe("partial");
  });

  it("schedules no retry after the plan has ended", () => {
    const after = three.when(starts("a"), starts("send"), starts("b"), fails("b", "TOOL_FAILED", { inFlight: ["a"] }));
    const over = after.when(fails("a", "NETWORK_TIMEOUT"), saysNotDone("send", "RATE_LIMIT"));
    expect(over.states).toEqual({ a: "failed_final", b: "failed_final", send: "failed_final" });
    expect(over.run.ended?.status).toBe("failed");
  });

  it("records the cost of a step that was skipped while its handler ran", () => {
    const gate = step("g", { gate: "human_confirm" });
    const scenario = given(accepts(plan(gate, step("a", { tool: readPage })))).when(starts("g"), starts("a"));
    const skipped = scenario.when(rejects("g"));
    expect(skipped.states).toEqual({ g: "rejected", a: "skipped" });
    const after = skipped.when(answers("a", 1, { cost: cost(5) }));
    expect(after.newEventTypes).toEqual(["step.cancelled"]);
    expect(after.states).toEqual({ g: "rejected", a: "skipped" });
    expect(after.run.spent).toMatchObject({ usd_micros: 5, attempts: 1 });
    expect(after.run.ended).toEqual(skipped.run.ended);
    expect(after.when(answers("a", 1, { cost: cost(5) })).newEvents).toEqual([]);
    expect(skipped.when(answers("a")).newEvents).toEqual([]);
  });

  it("accepts the value of a step that was skipped and resumed while its handler ran", () => {
    const gate = step("g", { gate: "human_confirm" });
    const scenario = given(accepts(plan(gate, step("a", { tool: readPage })))).when(
      starts("g"),
      starts("a"),
      rejects("g"),
    );
    expect(scenario.when(resumes, answers("a")).states).toEqual({ g: "ready", a: "succeeded" });
  });

  it("identifies its attempt by the grant, also if the clock was set back", () => {
    const failed = given(accepts(plan(step("a")))).when(
      starts("a"),
      fails("a", "NETWORK_TIMEOUT"),
      pass(500),
      starts("a"),
    );
    expect(failed.when(pass(-400), answers("a")).states).toEqual({ a: "succeeded" });
  });

  it("is ignored if the step no longer runs this attempt", () => {
    const failed = given(accepts(plan(step("a")))).when(starts("a"), fails("a", "NETWORK_TIMEOUT"));
    expect(failed.when(ends("a", { how: "value", output: 1, flaw: null })).newEvents).toEqual([]);
    expect(failed.when(fails("a", "NETWORK_TIMEOUT")).newEvents).toEqual([]);
  });

  it("fails an assertion for an act without a recorded start", () => {
    const grant = { ...running(addUp).grant("do"), recorded: false };
    const command = ends("do", { how: "error", fault: fault("TOOL_FAILED", "") }, { grant, tool: sendMail });
    expect(() => running(addUp).when(command)).toThrow("started on the record");
  });
});
