import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  cancels,
  does,
  fails,
  invalidOutput,
  rejects,
  resolvedHappened,
  resolves,
  saysNotDone,
  settles,
  sightingAbsent,
  starts,
  timesOut,
  undoes,
} from "../../testing/given/commands.ts";
import {
  hireRun,
  keepNote,
  later,
  ledgerFact,
  noon,
  orderRun,
  plan,
  planWait,
  readPage,
  sendMail,
  step,
} from "../../testing/given/fixtures.ts";
import { type GivenRun, given } from "../../testing/given/given.ts";
import { utcText } from "../time/utc-text.ts";
import { fault } from "../values/fault.ts";
import { runResult } from "./run-result.ts";

const result = (scenario: GivenRun) => runResult(scenario.run);
const send = step("send", { tool: sendMail });
const undoable = { ...sendMail, compensates: true };

describe("the result of a run", () => {
  it("is completed and final when every step succeeded", () => {
    const scenario = given(accepts(plan(step("a")))).when(does("a", { sum: 4 }));
    expect(result(scenario)).toEqual({
      run_id: hireRun,
      plan_id: "plan_1",
      status: "completed",
      final: true,
      outcomes: [],
      steps: { a: { state: "succeeded", output: { sum: 4 } } },
      results: [
        {
          step_id: "a",
          attempts: 1,
          world: "pure",
          started_at: noon,
          ended_at: noon,
          ms: 0,
          state: "succeeded",
          output: { sum: 4 },
        },
      ],
      counts: { steps: 1, succeeded: 1, reused: 0, failed: 0, rejected: 0, skipped: 0, cancelled: 0, retries: 0 },
      times: { accepted_at: noon, ended_at: noon, ms: 0 },
      versions: null,
      failed: [],
      gates: [],
      blocked_on: [],
      next: null,
      spent: { usd_micros: 0, credits: 0, tokens_in: 0, tokens_out: 0, attempts: 1 },
    });
  });

  it("is partial and not final while the run waits", () => {
    const scenario = given(accepts(plan(send), { mode: "human_gated" })).when(starts("send"));
    expect(result(scenario)).toMatchObject({ status: "partial", final: false });
  });

  it("is partial and final when the run ended and only some steps succeeded", () => {
    const scenario = given(accepts(plan(step("a"), step("b")))).when(does("a"), starts("b"), fails("b"));
    expect(result(scenario)).toMatchObject({
      status: "partial",
      final: true,
      failed: [{ step_id: "b", state: "failed_final", fault: { code: "TOOL_FAILED" } }],
      next: `the run has ended: fix the cause, then resume run ${hireRun}`,
    });
  });

  it("keeps the outcomes of earlier steps when a later step fails", () => {
    const draft = step("draft", { tool: keepNote, outcome: { type: "draft.mail", status: "draft" } });
    const scenario = given(accepts(plan(draft, step("b", { after: ["draft"] })))).when(
      does("draft"),
      starts("b"),
      fails("b"),
    );
    expect(result(scenario).outcomes).toEqual([
      {
        outcome_id: "out_hire_draft",
        type: "draft.mail",
        status: "draft",
        step_id: "draft",
        preview: '{"id":"draft 1"}',
      },
    ]);
    expect(result(scenario).steps.draft).toEqual({ state: "succeeded", output: { id: "draft 1" } });
  });

  it("lists the outcome of an act that a person settled as happened", () => {
    const mail = step("send", { tool: sendMail, outcome: { type: "mail.sent", status: "final" } });
    const scenario = given(accepts(plan(mail))).when(
      starts("send"),
      timesOut("send"),
      resolves("send", resolvedHappened(1)),
    );
    expect(result(scenario).outcomes).toEqual([
      { outcome_id: "out_hire_send", type: "mail.sent", status: "final", step_id: "send", preview: "1" },
    ]);
  });

  it("uses the name of the tool as outcome type if the plan names no outcome", () => {
    const reuse = { key: "terms" as never, ttlMs: null };
    const scenario = given(accepts(plan(step("a", { tool: readPage })))).when(
      starts("a"),
      answers("a", null, { reuse }),
    );
    expect(result(scenario).outcomes).toEqual([
      { outcome_id: "out_hire_a", type: "page.read", status: "final", step_id: "a", preview: "null" },
    ]);
  });

  it("lists the outcome of the earlier step that a step reuses", () => {
    const draft = step("a", { tool: readPage, outcome: { type: "draft.mail", status: "draft" } });
    const reused = { run: orderRun, step: "old" as never, at: later(-5), differs: null };
    const scenario = given(accepts(plan(draft))).when(starts("a", { reusable: { output: 1, reused } }));
    expect(result(scenario)).toMatchObject({
      outcomes: [{ outcome_id: "out_order_old", type: "draft.mail", status: "draft", step_id: "a" }],
      steps: { a: { state: "succeeded", output: 1, reused } },
    });
  });

  it("lists no outcome for a reused result of a step without a planned outcome", () => {
    const reused = { run: orderRun, step: "old" as never, at: later(-5), differs: null };
    const scenario = given(accepts(plan(step("a")))).when(starts("a", { reusable: { output: 1, reused } }));
    expect(result(scenario).outcomes).toEqual([]);
  });

  it("has no plan id for a run without a plan, and lists a step called __proto__", () => {
    const scenario = given(accepts(plan(step("__proto__")))).when(does("__proto__", 1));
    expect(Object.entries(result(scenario).steps)).toEqual([["__proto__", { state: "succeeded", output: 1 }]]);
    expect(runResult(given(accepts(null)).run).plan_id).toBeNull();
  });

  it("lists failed steps, rejected steps and failed compensations, but not skipped steps", () => {
    const steps = plan(
      step("a", { on_failure: "skip" }),
      step("b", { after: ["a"] }),
      step("c", { on_rejected: "continue" }),
      step("send", { tool: undoable }),
      step("d"),
    );
    const flaw = fault("INVALID_INPUT", "no");
    const scenario = given(accepts(steps)).when(
      starts("a"),
      fails("a"),
      starts("c", { flaw }),
      does("send"),
      undoes("send"),
      starts("d"),
      fails("d"),
    );
    const undone = scenario.when(starts("undo.send.1"), saysNotDone("undo.send.1", "AUTH_FORBIDDEN"));
    expect(result(undone).failed.map(({ step_id, state, fault: { code } }) => [step_id, state, code])).toEqual([
      ["c", "rejected", "INVALID_INPUT"],
      ["send", "compensation_failed", "AUTH_FORBIDDEN"],
      ["d", "failed_final", "TOOL_FAILED"],
      ["undo.send.1", "failed_final", "AUTH_FORBIDDEN"],
    ]);
    expect(result(undone).steps.b).toMatchObject({ state: "skipped", fault: { code: "DEPENDENCY_FAILED" } });
  });

  it("shows whether a verifier confirmed that an act is undone", () => {
    const scenario = given(accepts(plan(step("send", { tool: undoable })))).when(does("send"), undoes("send"));
    const undone = scenario.when(starts("undo.send.1"), answers("undo.send.1", null, { confirmed: true }));
    expect(result(scenario).steps.send).toEqual({ state: "compensating" });
    expect(result(undone).steps.send).toEqual({ state: "compensated", confirmed: true });
  });
});

describe("what a run is blocked on", () => {
  const gated = given(accepts(plan(step("a"), send), { mode: "human_gated" })).when(starts("send"));
  const until = later(1000);

  it("is an open gate, shown with the exact call", () => {
    const { gate_id, expires_at } = gated.gate("send");
    expect(result(gated)).toMatchObject({
      gates: [{ gate_id, step_id: "send", tool: "mail.send", input: { to: "send" }, expires_at }],
      blocked_on: [{ step_id: "send", reason_code: "REQUIRES_APPROVAL", gate_id }],
      next: `approve or reject gate ${gate_id}`,
      steps: { send: { state: "waiting_approval", gate_id } },
    });
  });

  it("is listed in the order of the steps, without decided gates", () => {
    const steps = plan(...["d", "c", "b", "a"].map((id) => step(id, { tool: sendMail })));
    const scenario = given(accepts(steps, { mode: "human_gated" })).when(
      ...["a", "c", "b", "d"].map((id) => starts(id)),
    );
    expect(result(scenario).gates.map(({ step_id }) => step_id)).toEqual(["d", "c", "b", "a"]);
    expect(result(scenario.when(approves("c"))).gates.map(({ step_id }) => step_id)).toEqual(["d", "b", "a"]);
  });

  it("is an act in doubt that only a person can settle", () => {
    const scenario = given(accepts(plan(send))).when(starts("send"), timesOut("send"));
    expect(result(scenario)).toMatchObject({
      blocked_on: [{ step_id: "send", reason_code: "IN_DOUBT" }],
      next: "find out whether send happened, then resolve it: happened, absent, undo or give up",
      steps: { send: { state: "in_doubt", fault: { code: "OUTCOME_UNKNOWN" } } },
    });
  });

  it("is an act in doubt that will be verified again", () => {
    const verifiable = step("send", { tool: { ...sendMail, verifies: true } });
    const scenario = given(accepts(plan(verifiable))).when(
      starts("send"),
      timesOut("send"),
      settles("send", sightingAbsent),
    );
    expect(result(scenario).blocked_on).toEqual([{ step_id: "send", reason_code: "IN_DOUBT", until: later(90_000) }]);
    expect(result(scenario).next).toBe(
      `nothing to do: the engine checks again at ${utcText(later(90_000))} whether send happened`,
    );
  });

  it("is a wait for a time", () => {
    const scenario = given(accepts(plan(planWait("w", { ms: 1000 })))).when(starts("w"));
    expect(result(scenario)).toMatchObject({
      blocked_on: [{ step_id: "w", reason_code: "WAITING_FOR_TIME", until }],
      next: `nothing to do: w continues by itself at ${utcText(until)}`,
    });
  });

  it("is an act of another run with the same key", () => {
    const scenario = given(accepts(plan(send)))
      .withLedgerFact(ledgerFact({ state: "started" }))
      .when(starts("send"));
    expect(result(scenario).blocked_on).toEqual([
      { step_id: "send", reason_code: "WAITING_FOR_KEY", run_id: orderRun, until },
    ]);
    expect(result(scenario).next).toBe(
      `nothing to do: run ${orderRun} is doing the act of send; the engine checks again at ${utcText(until)}`,
    );
  });

  it("is the next attempt of a failed step", () => {
    const scenario = given(accepts(plan(step("a")))).when(starts("a"), fails("a", "NETWORK_TIMEOUT"));
    expect(result(scenario).blocked_on).toEqual([{ step_id: "a", reason_code: "RETRYING", until: later(500) }]);
    expect(result(scenario).next).toBe(`nothing to do: the engine tries a again at ${utcText(later(500))}`);
    expect(result(scenario).steps.a).toMatchObject({ state: "failed_retryable" });
  });

  it.each(["TOOL_MISSING", "TOOL_CHANGED"] as const)("is a tool that this worker does not have (%s)", (code) => {
    const scenario = given(accepts(plan(step("a")))).when(starts("a", { parked: fault(code, "not here") }));
    expect(result(scenario)).toMatchObject({
      blocked_on: [{ step_id: "a", reason_code: code }],
      next: `register the tool that a was accepted with, or cancel run ${hireRun}`,
    });
  });

  it("is an unfinished undo", () => {
    const scenario = given(accepts(plan(step("send", { tool: undoable })))).when(does("send"), undoes("send"));
    expect(result(scenario)).toMatchObject({
      blocked_on: [{ step_id: "send", reason_code: "COMPENSATING" }],
      next: "nothing to do: send continues by itself",
    });
  });

  it("names an action of a person before a step that continues by itself", () => {
    const scenario = given(accepts(plan(planWait("w", { ms: 1000 }), step("send", { tool: undoable }))));
    const undoing = scenario.when(starts("w"), does("send"), undoes("send"), starts("undo.send.1"));
    expect(result(undoing.when(timesOut("undo.send.1"))).next).toMatch(/^find out whether undo\.send\.1 happened/);
  });

  it("is nothing when the remaining acts are undone or given up", () => {
    const undone = given(accepts(plan(step("send", { tool: undoable })))).when(does("send"), undoes("send"));
    expect(result(undone.when(does("undo.send.1")))).toMatchObject({ status: "failed", final: true, next: null });
    const lost = given(accepts(plan(send, step("b", { after: ["send"] })))).when(starts("send"), timesOut("send"));
    expect(result(lost.when(resolves("send", { as: "give_up" })))).toMatchObject({
      status: "failed",
      final: true,
      next: null,
    });
  });

  it("is nothing once the run has ended", () => {
    expect(result(gated.when(cancels))).toMatchObject({ status: "cancelled", gates: [], blocked_on: [] });
    expect(result(gated.when(cancels)).next).toBeNull();
  });
});

describe("the final status of a run", () => {
  const two = given(accepts(plan(step("a"), step("b", { on_rejected: "continue" }), step("c", { tool: undoable }))));

  it.each([
    ["completed", "all succeeded", two.when(does("a"), does("b"), does("c"))],
    ["partial", "some succeeded", two.when(does("a"), does("c"), starts("b", { flaw: invalidOutput }))],
    ["failed", "none succeeded", two.when(starts("a"), fails("a"))],
    ["cancelled", "it was cancelled", two.when(does("a"), cancels)],
  ] as const)("is %s when %s", (status, _, scenario) => {
    expect(result(scenario)).toMatchObject({ status, final: true });
  });

  it("is completed at once for an empty plan", () => {
    expect(result(given(accepts(plan()))).status).toBe("completed");
  });

  it("is cancelled only after every running act has ended or is settled", () => {
    const scenario = two.when(does("a"), does("b"), starts("c"), cancels);
    expect(result(scenario)).toMatchObject({ status: "partial", final: false });
    const doubted = scenario.when(timesOut("c"));
    expect(result(doubted).final).toBe(false);
    expect(result(doubted.when(resolves("c", { as: "absent" })))).toMatchObject({ status: "cancelled", final: true });
  });

  it("does not count undo steps as planned steps", () => {
    const done = given(accepts(plan(step("send", { tool: undoable })))).when(does("send"));
    expect(result(done).status).toBe("completed");
    expect(result(done.when(undoes("send"), does("undo.send.1"))).status).toBe("failed");
    const invalid = given(accepts(plan(step("send", { tool: undoable })))).when(
      starts("send"),
      answers("send", 1, { flaw: invalidOutput }),
    );
    expect(result(invalid).status).toBe("failed");
    expect(result(invalid.when(undoes("send"), does("undo.send.1"))).status).toBe("failed");
  });

  it("is decided again when a person resolves a failed step", () => {
    const invalid = two.when(does("a"), does("b"), starts("c"), answers("c", 1, { flaw: invalidOutput }));
    expect(result(invalid).status).toBe("partial");
    expect(result(invalid.when(resolves("c", resolvedHappened({ id: "c" })))).status).toBe("completed");
  });

  it("is partial when a person rejects the remaining steps", () => {
    const held = given(accepts(plan(step("a"), send), { mode: "human_gated" })).when(does("a"), starts("send"));
    expect(result(held.when(rejects("send")))).toMatchObject({
      status: "partial",
      failed: [{ step_id: "send", state: "rejected", fault: { code: "GATE_REJECTED" } }],
    });
  });
});
