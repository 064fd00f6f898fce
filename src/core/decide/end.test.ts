import { describe, expect, it } from "vitest";
import { addUp, cost, keepNote, keyOf, later, noon, plan, readPage, sendMail, step } from "../../testing/given/cast.ts";
import {
  accepts,
  answers,
  approves,
  cancels,
  does,
  ends,
  fails,
  goesUnheard,
  misshapen,
  rejects,
  resolves,
  resumes,
  saysNotDone,
  starts,
} from "../../testing/given/moves.ts";
import { given, type Move, pass, type Told } from "../../testing/given.ts";
import type { Errand } from "../command.ts";
import { fault } from "../fault.ts";
import type { Digest, StepId } from "../id.ts";
import type { ToolFacts } from "../proposal.ts";

const running = (tool: ToolFacts): Told => given(accepts(plan(step("do", { tool })))).when(starts("do"));
const told = (tool: ToolFacts, ...moves: readonly Move[]) => running(tool).when(...moves);
const row = (after: Told) => after.ledgerRow(keyOf("do"));

describe.each([
  ["pure", addUp, "pure"],
  ["reads", readPage, "pure"],
  ["writes", keepNote, "state_changed"],
] as const)("ending a handler of a tool that is %s", (_, tool, world) => {
  it("succeeds with a value", () => {
    const after = told(tool, answers("do", { sum: 4 }));
    expect(after.said("step.succeeded")).toEqual({
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

  it("fails for good with a value that does not fit", () => {
    const after = told(tool, answers("do", 1, { flaw: misshapen }));
    expect(after.said("step.failed")).toMatchObject({ fault: misshapen, retry_at: null, world: "permanent_failure" });
    expect(after.said("step.failed").output).toBeUndefined();
  });

  it.each([
    ["its word that nothing happened", saysNotDone("do", "NETWORK_TIMEOUT")],
    ["an error", fails("do", "NETWORK_TIMEOUT")],
    ["a timeout", goesUnheard("do", "TOOL_TIMEOUT")],
  ])("is tried again by the kind of fault after %s", (_how, move) => {
    expect(told(tool, move).said("step.failed")).toMatchObject({ retry_at: later(500), world: "retryable_failure" });
  });

  it.each([
    ["its word that nothing happened", saysNotDone("do", "INVALID_INPUT")],
    ["an error", fails("do", "INVALID_INPUT")],
    ["an abort", goesUnheard("do", "CANCELLED")],
  ])("fails for good by the kind of fault after %s", (_how, move) => {
    expect(told(tool, move).said("step.failed")).toMatchObject({ retry_at: null, world: "permanent_failure" });
    expect(told(tool, move).states).toEqual({ do: "failed_final" });
  });

  it("is dropped when it comes late", () => {
    const after = told(tool, goesUnheard("do")).when(answers("do", { late: true }));
    expect(after.news).toEqual([]);
  });
});

describe("ending an act", () => {
  it("commits with a value, and the value is the receipt", () => {
    const after = told(sendMail, answers("do", { id: "m1" }));
    expect(after.said("step.succeeded")).toMatchObject({
      world: "side_effect_committed",
      ledger: { version: 2, generation: 1 },
    });
    expect(after.step("do")).toMatchObject({
      world: "side_effect_committed",
      act: { output: { id: "m1" }, receipt: 3 },
    });
    expect(row(after)).toMatchObject({ state: "committed", receipt: 3, usable: true });
  });

  it("commits with a value that does not fit, too: it happened, nobody builds on it, and it is never tried again", () => {
    const after = told(sendMail, answers("do", "what?", { flaw: { ...misshapen, code: "RATE_LIMIT" } }));
    expect(after.said("step.failed")).toMatchObject({
      output: "what?",
      retry_at: null,
      world: "compensatable_failure",
      ledger: { version: 2, generation: 1 },
    });
    expect(after.states).toEqual({ do: "failed_final" });
    expect(row(after)).toMatchObject({ state: "committed", receipt: 3, usable: false });
  });

  it("keeps an answer of nothing for a receipt as well", () => {
    const after = told(sendMail, answers("do", null, { flaw: misshapen }));
    const kept = given(...(JSON.parse(JSON.stringify(after.past)) as typeof after.past));
    expect(row(kept)).toMatchObject({ state: "committed", receipt: 3, usable: false });
  });

  it("is not done on the tool's word, and a retry keeps the key and the generation", () => {
    const failed = told(sendMail, saysNotDone("do", "RATE_LIMIT"));
    expect(failed.said("step.failed")).toMatchObject({ retry_at: later(1000), ledger: { version: 2, generation: 1 } });
    expect(row(failed)).toMatchObject({ state: "not_done", receipt: null, usable: true });
    const again = failed.when(pass(1000), starts("do"));
    expect(again.said("step.started")).toMatchObject({
      attempt: 2,
      call: { key: keyOf("do") },
      ledger: { version: 3, generation: 1 },
    });
  });

  it("is not done and failed for good, where the fault does not pass", () => {
    const after = told(sendMail, saysNotDone("do", "INVALID_INPUT"));
    expect(after.states).toEqual({ do: "failed_final" });
    expect(row(after)).toMatchObject({ state: "not_done" });
  });

  it("is in doubt after an error that says nothing about the world", () => {
    const after = told(sendMail, fails("do", "RATE_LIMIT"));
    expect(after.said("step.doubted")).toMatchObject({
      fault: { code: "OUTCOME_UNKNOWN", detail: { code: "RATE_LIMIT" } },
      ledger: { version: 2, generation: 1 },
    });
    expect(after.step("do")).toMatchObject({ standing: { state: "in_doubt", since: noon }, world: "in_doubt" });
    expect(row(after)).toMatchObject({ state: "in_doubt", receipt: null });
  });

  it("is not done after an error, where the tool declares that errors mean that", () => {
    const after = told({ ...sendMail, errorsMean: "not_done" }, fails("do", "RATE_LIMIT"));
    expect(after.said("step.failed").retry_at).toBe(later(1000));
    expect(row(after)).toMatchObject({ state: "not_done" });
  });

  it.each(["unknown", "not_done"] as const)("is in doubt after a timeout, whatever errors mean (%s)", (errorsMean) => {
    const after = told({ ...sendMail, errorsMean }, goesUnheard("do"));
    expect(after.states).toEqual({ do: "in_doubt" });
  });

  it("writes down how the doubt can be settled, as the tool declares it now", () => {
    const tool = { ...sendMail, verifies: true, idempotentForMs: 600_000 };
    const after = told(tool, pass(1000), goesUnheard("do"));
    expect(after.said("step.doubted").exits).toEqual({
      verify: true,
      resend_until: later(600_000 - 30_000 - 60_000),
      quiet_at: later(1000 + 30_000 + 60_000),
    });
  });

  it("counts with the step's own timeout where the plan gives one", () => {
    const tool = { ...sendMail, idempotentForMs: 600_000 };
    const slow = given(accepts(plan(step("do", { tool, timeout_ms: 100_000 })))).when(starts("do"), goesUnheard("do"));
    expect(slow.said("step.doubted").exits).toMatchObject({
      resend_until: later(600_000 - 100_000 - 60_000),
      quiet_at: later(100_000 + 60_000),
    });
  });

  it("counts as an act if either the plan or the tool says so", () => {
    const worse = given(accepts(plan(step("do", { tool: addUp, effect: "acts" })))).when(starts("do"));
    expect(worse.when(goesUnheard("do")).states).toEqual({ do: "in_doubt" });
    const milder = given(accepts(plan(step("do", { tool: sendMail, effect: "pure" })))).when(starts("do"));
    expect(milder.when(goesUnheard("do")).states).toEqual({ do: "in_doubt" });
  });
});

describe("a value that comes late", () => {
  const doubted = told(sendMail, goesUnheard("do"));

  it("is adopted while the act is in doubt", () => {
    const after = doubted.when(pass(5000), answers("do", { id: "late" }));
    expect(after.said("step.succeeded")).toMatchObject({
      at: later(5000),
      output: { id: "late" },
      ledger: { version: 3 },
    });
    expect(row(after)).toMatchObject({ state: "committed" });
    expect(after.run.spent.attempts).toBe(1);
  });

  it("is adopted as it is, even if it does not fit", () => {
    const after = doubted.when(answers("do", "what?", { flaw: misshapen }));
    expect(after.states).toEqual({ do: "failed_final" });
    expect(row(after)).toMatchObject({ state: "committed", usable: false });
  });

  it("is kept as evidence once a person has settled it otherwise", () => {
    const after = doubted.when(resolves("do", { as: "give_up" })).when(answers("do", { id: "late" }));
    expect(after.said("evidence.kept")).toMatchObject({ attempt: 1, evidence: { id: "late" } });
    expect(after.states).toEqual({ do: "failed_final" });
    expect(after.run.ended?.status).toBe("failed");
  });

  it("is kept as evidence while another attempt runs, and ends none but its own", () => {
    const first = doubted.grant("do");
    const second = doubted.when(resolves("do", { as: "absent" }), starts("do"));
    const after = second.when(answers("do", { id: "late" }, { grant: first }));
    expect(after.types).toEqual(["evidence.kept"]);
    expect(after.standing("do")).toMatchObject({ state: "running", attempt: 2 });
  });

  it("settles nothing unless it is a value", () => {
    expect(doubted.when(fails("do")).news).toEqual([]);
    expect(doubted.when(saysNotDone("do")).news).toEqual([]);
  });

  it("is kept as evidence of a recorded attempt of anything else, too", () => {
    const gated = given(accepts(plan(step("do", { tool: readPage, gate: "human_confirm" }))));
    const late = gated.when(starts("do"), approves("do"), starts("do"), fails("do"), answers("do", 7));
    expect(late.types.at(-1)).toBe("evidence.kept");
    expect(late.run.ended?.status).toBe("failed");
  });
});

describe("what an ending carries", () => {
  it("stores an input that is not the plan's payload, once", () => {
    const bound = given(accepts(plan(step("do")))).when(starts("do", { input: { bound: 1 }, derived: true }));
    expect(bound.when(answers("do")).said("step.succeeded").input).toEqual({ bound: 1 });
    expect(bound.when(fails("do")).said("step.failed").input).toEqual({ bound: 1 });
    const act = given(accepts(plan(step("do", { tool: sendMail })))).when(starts("do", { derived: true }));
    expect(act.when(answers("do")).said("step.succeeded").input).toBeUndefined();
  });

  it("says what it cost, and to which tallies that goes", () => {
    const after = told(readPage, answers("do", null, { cost: cost(120, { tokens_in: 5 }) }));
    expect(after.said("step.succeeded")).toMatchObject({
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

  it("adds up what failed and doubtful attempts cost, and counts each once", () => {
    const after = told(sendMail, saysNotDone("do", "RATE_LIMIT", { cost: cost(1) }), pass(9000), starts("do")).when(
      goesUnheard("do", "TOOL_TIMEOUT", { cost: cost(10) }),
      answers("do", null, { cost: cost(100) }),
    );
    expect(after.run.spent).toMatchObject({ usd_micros: 111, attempts: 2 });
    expect(told(sendMail, answers("do")).run.spent.attempts).toBe(1);
  });

  it("names what an outcome was made from", () => {
    const reuse = { key: "terms" as Digest, ttlMs: null };
    const pinned = { tools: { "page.read": { version: "3", schema_hash: "h" as Digest } } };
    const draft = step("do", {
      tool: readPage,
      outcome: { type: "draft.mail", status: "draft" },
      gate: "human_confirm",
    });
    const after = given(accepts(plan(draft), pinned)).when(starts("do"), approves("do"), starts("do"));
    expect(after.when(answers("do", null, { reuse })).said("step.succeeded").outcome).toEqual({
      outcome_id: "out_hire_do",
      type: "draft.mail",
      status: "draft",
      input_digest: after.gate("do").call.digest,
      tool: "page.read@3",
      reuse_key: "terms",
    });
    expect(told(readPage, answers("do")).said("step.succeeded").outcome).toBeUndefined();
  });

  it("hands over messages, which wait until they are delivered", () => {
    const notices = [{ notice_id: "n1", topic: "t", payload: 1 }];
    const after = told(addUp, answers("do", null, { notices }));
    expect(after.said("step.succeeded").notices).toEqual(notices);
    expect(after.run.notices.get("n1")).toEqual(notices[0]);
    expect(after.run.ended?.status).toBe("completed");
  });
});

describe("an errand", () => {
  const errand = (id: string): Errand => ({
    step: step(id, { tool: sendMail, on_failure: "skip", on_rejected: "continue" }),
    pin: null,
    cause: { by: "errand", of: "do" as StepId },
  });
  const errands = [errand("do.1"), errand("do.2")];

  it("becomes a step of the run when its parent commits, and takes the road", () => {
    const after = told(sendMail, answers("do", null, { errands }));
    expect(after.types).toEqual(["step.succeeded", "step.proposed", "step.proposed"]);
    expect(after.decision.fresh).toEqual([1, 2]);
    expect(after.states).toEqual({ do: "succeeded", "do.1": "ready", "do.2": "ready" });
    expect(after.when(does("do.1"), does("do.2")).run.ended?.status).toBe("completed");
  });

  it("is not left by a parent that failed", () => {
    expect(told(addUp, fails("do", "TOOL_FAILED", { errands })).types).toEqual(["step.failed", "run.ended"]);
  });

  it("is cancelled with its run, though its parent still came to its end", () => {
    const after = told(sendMail, cancels, answers("do", null, { errands }));
    expect(after.states).toEqual({ do: "succeeded", "do.1": "cancelled", "do.2": "cancelled" });
    expect(after.run.ended?.status).toBe("cancelled");
  });

  it("does not begin once a step has ended the plan", () => {
    const two = given(accepts(plan(step("do", { tool: sendMail }), step("b")))).when(
      starts("do"),
      starts("b"),
      fails("b"),
    );
    const after = two.when(answers("do", null, { errands: [errand("do.1")] }));
    expect(after.states).toEqual({ do: "succeeded", b: "failed_final", "do.1": "skipped" });
    expect(after.when(resumes).states).toMatchObject({ b: "ready", "do.1": "ready" });
  });

  it("never takes the name of a step that is there", () => {
    const after = told(sendMail, answers("do", null, { errands: [errand("do.1"), errand("do")] }));
    expect(after.types).toEqual(["step.succeeded", "step.proposed"]);
  });
});

describe("ending while others are under way", () => {
  const three = given(accepts(plan(step("a", { tool: readPage }), step("b"), step("send", { tool: sendMail }))));

  it("spares what is in flight, on the record or not, and skips the rest", () => {
    const more = given(
      accepts(plan(step("a", { tool: readPage }), step("b"), step("send", { tool: sendMail }), step("c"))),
    );
    const after = more.when(starts("a"), starts("send"), starts("b"), fails("b", "TOOL_FAILED", { inFlight: ["a"] }));
    expect(after.states).toEqual({ a: "ready", b: "failed_final", send: "running", c: "skipped" });
    const over = after.when(answers("a"), answers("send"));
    expect(over.states).toEqual({ a: "succeeded", b: "failed_final", send: "succeeded", c: "skipped" });
    expect(over.run.ended?.status).toBe("partial");
  });

  it("tries nothing again that fails after the plan was ended", () => {
    const after = three.when(starts("a"), starts("send"), starts("b"), fails("b", "TOOL_FAILED", { inFlight: ["a"] }));
    const over = after.when(fails("a", "NETWORK_TIMEOUT"), saysNotDone("send", "RATE_LIMIT"));
    expect(over.states).toEqual({ a: "failed_final", b: "failed_final", send: "failed_final" });
    expect(over.run.ended?.status).toBe("failed");
  });

  it("keeps what a step cost that was skipped under its handler", () => {
    const gate = step("g", { gate: "human_confirm" });
    const told = given(accepts(plan(gate, step("a", { tool: readPage })))).when(starts("g"), starts("a"));
    const skipped = told.when(rejects("g"));
    expect(skipped.states).toEqual({ g: "rejected", a: "skipped" });
    const after = skipped.when(answers("a", 1, { cost: cost(5) }));
    expect(after.types).toEqual(["step.cancelled"]);
    expect(after.states).toEqual({ g: "rejected", a: "skipped" });
    expect(after.run.spent).toMatchObject({ usd_micros: 5, attempts: 1 });
    expect(after.run.ended).toEqual(skipped.run.ended);
    expect(after.when(answers("a", 1, { cost: cost(5) })).news).toEqual([]);
    expect(skipped.when(answers("a")).news).toEqual([]);
  });

  it("takes the value of a step that was skipped and resumed under its handler", () => {
    const gate = step("g", { gate: "human_confirm" });
    const told = given(accepts(plan(gate, step("a", { tool: readPage })))).when(starts("g"), starts("a"), rejects("g"));
    expect(told.when(resumes, answers("a")).states).toEqual({ g: "ready", a: "succeeded" });
  });

  it("knows its attempt by the grant, though the clock went back meanwhile", () => {
    const failed = given(accepts(plan(step("a")))).when(
      starts("a"),
      fails("a", "NETWORK_TIMEOUT"),
      pass(500),
      starts("a"),
    );
    expect(failed.when(pass(-400), answers("a")).states).toEqual({ a: "succeeded" });
  });

  it("ignores an attempt that something overtook", () => {
    const failed = given(accepts(plan(step("a")))).when(starts("a"), fails("a", "NETWORK_TIMEOUT"));
    expect(failed.when(ends("a", { how: "value", output: 1, flaw: null })).news).toEqual([]);
    expect(failed.when(fails("a", "NETWORK_TIMEOUT")).news).toEqual([]);
  });

  it("does not end an act that was never started on the record", () => {
    const grant = { ...running(addUp).grant("do"), recorded: false };
    const command = ends("do", { how: "error", fault: fault("TOOL_FAILED", "") }, { grant, tool: sendMail });
    expect(() => running(addUp).when(command)).toThrow("started on the record");
  });
});
