import { describe, expect, it } from "vitest";
import {
  hire,
  keepNote,
  later,
  ledgerFact,
  order,
  plan,
  readPage,
  sendMail,
  step,
  wait,
} from "../testing/given/cast.ts";
import {
  absent,
  accepts,
  answers,
  approves,
  cancels,
  does,
  fails,
  goesUnheard,
  happened,
  misshapen,
  rejects,
  resolves,
  saysNotDone,
  settles,
  starts,
  undoes,
} from "../testing/given/moves.ts";
import { given, type Told } from "../testing/given.ts";
import { fault } from "./fault.ts";
import { resultOf } from "./result.ts";

const result = (told: Told) => resultOf(told.run);
const send = step("send", { tool: sendMail });
const undoable = { ...sendMail, compensates: true };

describe("the result of a run", () => {
  it("is completed and final when every step succeeded", () => {
    const told = given(accepts(plan(step("a")))).when(does("a", { sum: 4 }));
    expect(result(told)).toEqual({
      run_id: hire,
      plan_id: "plan_1",
      status: "completed",
      final: true,
      outcomes: [],
      steps: { a: { state: "succeeded", output: { sum: 4 } } },
      failed: [],
      gates: [],
      blocked_on: [],
      next: null,
      spent: { usd_micros: 0, credits: 0, tokens_in: 0, tokens_out: 0, attempts: 1 },
    });
  });

  it("is partial and not final while someone or some time can still move it", () => {
    const told = given(accepts(plan(send), { mode: "human_gated" })).when(starts("send"));
    expect(result(told)).toMatchObject({ status: "partial", final: false });
  });

  it("is partial and final when it ended with only some of it done", () => {
    const told = given(accepts(plan(step("a"), step("b")))).when(does("a"), starts("b"), fails("b"));
    expect(result(told)).toMatchObject({
      status: "partial",
      final: true,
      failed: [{ step_id: "b", state: "failed_final", fault: { code: "TOOL_FAILED" } }],
      next: `mend the cause, then resume run ${hire}`,
    });
  });

  it("keeps what earlier steps made, whatever fails later", () => {
    const draft = step("draft", { tool: keepNote, outcome: { type: "draft.mail", status: "draft" } });
    const told = given(accepts(plan(draft, step("b", { after: ["draft"] })))).when(
      does("draft"),
      starts("b"),
      fails("b"),
    );
    expect(result(told).outcomes).toEqual([
      { outcome_id: "out_hire_draft", type: "draft.mail", status: "draft", step_id: "draft" },
    ]);
    expect(result(told).steps.draft).toEqual({ state: "succeeded", output: { id: "draft 1" } });
  });

  it("shows what an act made though nobody heard its answer", () => {
    const mail = step("send", { tool: sendMail, outcome: { type: "mail.sent", status: "final" } });
    const told = given(accepts(plan(mail))).when(starts("send"), goesUnheard("send"), resolves("send", happened(1)));
    expect(result(told).outcomes).toEqual([
      { outcome_id: "out_hire_send", type: "mail.sent", status: "final", step_id: "send" },
    ]);
  });

  it("names a tool's own kind of outcome where the plan names none", () => {
    const reuse = { key: "terms" as never, ttlMs: null };
    const told = given(accepts(plan(step("a", { tool: readPage })))).when(starts("a"), answers("a", null, { reuse }));
    expect(result(told).outcomes).toEqual([
      { outcome_id: "out_hire_a", type: "page.read", status: "final", step_id: "a" },
    ]);
  });

  it("shows the outcome of the step that answers for one that was not run", () => {
    const draft = step("a", { tool: readPage, outcome: { type: "draft.mail", status: "draft" } });
    const reused = { run: order, step: "old" as never, at: later(-5), differs: null };
    const told = given(accepts(plan(draft))).when(starts("a", { reusable: { output: 1, reused } }));
    expect(result(told)).toMatchObject({
      outcomes: [{ outcome_id: "out_order_old", type: "draft.mail", status: "draft", step_id: "a" }],
      steps: { a: { state: "succeeded", output: 1, reused } },
    });
  });

  it("shows no outcome for a receipt that is none", () => {
    const reused = { run: order, step: "old" as never, at: later(-5), differs: null };
    const told = given(accepts(plan(step("a")))).when(starts("a", { reusable: { output: 1, reused } }));
    expect(result(told).outcomes).toEqual([]);
  });

  it("has no plan id for a run without a plan, and survives steps with strange names", () => {
    const told = given(accepts(plan(step("__proto__")))).when(does("__proto__", 1));
    expect(Object.entries(result(told).steps)).toEqual([["__proto__", { state: "succeeded", output: 1 }]]);
    expect(resultOf(given(accepts(null)).run).plan_id).toBeNull();
  });

  it("lists what failed, what was refused and what could not be undone, and not what was only skipped", () => {
    const steps = plan(
      step("a", { on_failure: "skip" }),
      step("b", { after: ["a"] }),
      step("c", { on_rejected: "continue" }),
      step("send", { tool: undoable }),
    );
    const flaw = fault("INVALID_INPUT", "no");
    const told = given(accepts(steps)).when(
      starts("a"),
      fails("a"),
      starts("c", { flaw }),
      does("send"),
      undoes("send"),
    );
    const over = told.when(starts("undo.send.1"), saysNotDone("undo.send.1", "AUTH_FORBIDDEN"));
    expect(result(over).failed.map(({ step_id, state, fault: { code } }) => [step_id, state, code])).toEqual([
      ["a", "failed_final", "TOOL_FAILED"],
      ["c", "rejected", "INVALID_INPUT"],
      ["send", "compensation_failed", "AUTH_FORBIDDEN"],
      ["undo.send.1", "failed_final", "AUTH_FORBIDDEN"],
    ]);
    expect(result(over).steps.b).toMatchObject({ state: "skipped", fault: { code: "DEPENDENCY_FAILED" } });
  });

  it("says of an undone act whether the world was looked at", () => {
    const told = given(accepts(plan(step("send", { tool: undoable })))).when(does("send"), undoes("send"));
    const undone = told.when(starts("undo.send.1"), answers("undo.send.1", null, { confirmed: true }));
    expect(result(told).steps.send).toEqual({ state: "compensating" });
    expect(result(undone).steps.send).toEqual({ state: "compensated", confirmed: true });
  });
});

describe("what a run is blocked on", () => {
  const gated = given(accepts(plan(step("a"), send), { mode: "human_gated" })).when(starts("send"));
  const until = later(1000);

  it("is a gate that someone may decide, shown with the exact call", () => {
    const { gate_id, expires_at } = gated.gate("send");
    expect(result(gated)).toMatchObject({
      gates: [{ gate_id, step_id: "send", tool: "mail.send", input: { to: "send" }, expires_at }],
      blocked_on: [{ step_id: "send", reason_code: "REQUIRES_APPROVAL", gate_id }],
      next: `approve or reject gate ${gate_id}`,
      steps: { send: { state: "waiting_approval", gate_id } },
    });
  });

  it("lists gates in the order of their steps, and none that is decided", () => {
    const steps = plan(...["d", "c", "b", "a"].map((id) => step(id, { tool: sendMail })));
    const told = given(accepts(steps, { mode: "human_gated" })).when(...["a", "c", "b", "d"].map((id) => starts(id)));
    expect(result(told).gates.map(({ step_id }) => step_id)).toEqual(["d", "c", "b", "a"]);
    expect(result(told.when(approves("c"))).gates.map(({ step_id }) => step_id)).toEqual(["d", "b", "a"]);
  });

  it("is an act in doubt that only a person can settle", () => {
    const told = given(accepts(plan(send))).when(starts("send"), goesUnheard("send"));
    expect(result(told)).toMatchObject({
      blocked_on: [{ step_id: "send", reason_code: "IN_DOUBT" }],
      next: "find out whether send happened, then resolve it: happened, absent, undo or give up",
      steps: { send: { state: "in_doubt", fault: { code: "OUTCOME_UNKNOWN" } } },
    });
  });

  it("is an act in doubt that will be looked at again", () => {
    const looks = step("send", { tool: { ...sendMail, verifies: true } });
    const told = given(accepts(plan(looks))).when(starts("send"), goesUnheard("send"), settles("send", absent));
    expect(result(told).blocked_on).toEqual([{ step_id: "send", reason_code: "IN_DOUBT", until: later(90_000) }]);
  });

  it("is time that must pass", () => {
    const told = given(accepts(plan(wait("w", { ms: 1000 })))).when(starts("w"));
    expect(result(told)).toMatchObject({
      blocked_on: [{ step_id: "w", reason_code: "WAITING_FOR_TIME", until }],
      next: "nothing to do: w goes on by itself when its time comes",
    });
  });

  it("is another run's act", () => {
    const told = given(accepts(plan(send)))
      .hearing(ledgerFact({ state: "started" }))
      .when(starts("send"));
    expect(result(told).blocked_on).toEqual([
      { step_id: "send", reason_code: "WAITING_FOR_KEY", run_id: order, until },
    ]);
  });

  it("is the next try", () => {
    const told = given(accepts(plan(step("a")))).when(starts("a"), fails("a", "NETWORK_TIMEOUT"));
    expect(result(told).blocked_on).toEqual([{ step_id: "a", reason_code: "RETRYING", until: later(500) }]);
    expect(result(told).steps.a).toMatchObject({ state: "failed_retryable" });
  });

  it.each(["TOOL_MISSING", "TOOL_CHANGED"] as const)("is a tool that is not here (%s)", (code) => {
    const told = given(accepts(plan(step("a")))).when(starts("a", { parked: fault(code, "not here") }));
    expect(result(told)).toMatchObject({
      blocked_on: [{ step_id: "a", reason_code: code }],
      next: `register the tool that a was accepted with, or cancel run ${hire}`,
    });
  });

  it("is an undo under way", () => {
    const told = given(accepts(plan(step("send", { tool: undoable })))).when(does("send"), undoes("send"));
    expect(result(told)).toMatchObject({
      blocked_on: [{ step_id: "send", reason_code: "COMPENSATING" }],
      next: "nothing to do: send goes on by itself when its time comes",
    });
  });

  it("tells a person what to do before it tells what happens by itself", () => {
    const told = given(accepts(plan(wait("w", { ms: 1000 }), step("send", { tool: undoable }))));
    const undoing = told.when(starts("w"), does("send"), undoes("send"), starts("undo.send.1"));
    expect(result(undoing.when(goesUnheard("undo.send.1"))).next).toMatch(/^find out whether undo\.send\.1 happened/);
  });

  it("is nothing when all that is left was undone, or must not be done again", () => {
    const undone = given(accepts(plan(step("send", { tool: undoable })))).when(does("send"), undoes("send"));
    expect(result(undone.when(does("undo.send.1")))).toMatchObject({ status: "failed", final: true, next: null });
    const lost = given(accepts(plan(send, step("b", { after: ["send"] })))).when(starts("send"), goesUnheard("send"));
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

describe("how a run ended", () => {
  const two = given(accepts(plan(step("a"), step("b", { on_rejected: "continue" }), step("c", { tool: undoable }))));

  it.each([
    ["completed", "all succeeded", two.when(does("a"), does("b"), does("c"))],
    ["partial", "some succeeded", two.when(does("a"), does("c"), starts("b", { flaw: misshapen }))],
    ["failed", "none succeeded", two.when(starts("a"), fails("a"))],
    ["cancelled", "it was cancelled", two.when(does("a"), cancels)],
  ] as const)("is %s when %s", (status, _, told) => {
    expect(result(told)).toMatchObject({ status, final: true });
  });

  it("is completed at once for a plan of nothing", () => {
    expect(result(given(accepts(plan()))).status).toBe("completed");
  });

  it("is cancelled only after every act in flight is settled", () => {
    const told = two.when(does("a"), does("b"), starts("c"), cancels);
    expect(result(told)).toMatchObject({ status: "partial", final: false });
    const doubted = told.when(goesUnheard("c"));
    expect(result(doubted).final).toBe(false);
    expect(result(doubted.when(resolves("c", { as: "absent" })))).toMatchObject({ status: "cancelled", final: true });
  });

  it("never counts an undo as something that was asked for", () => {
    const done = given(accepts(plan(step("send", { tool: undoable })))).when(does("send"));
    expect(result(done).status).toBe("completed");
    expect(result(done.when(undoes("send"), does("undo.send.1"))).status).toBe("failed");
    const flawed = given(accepts(plan(step("send", { tool: undoable })))).when(
      starts("send"),
      answers("send", 1, { flaw: misshapen }),
    );
    expect(result(flawed).status).toBe("failed");
    expect(result(flawed.when(undoes("send"), does("undo.send.1"))).status).toBe("failed");
  });

  it("is said again when a person mends what failed", () => {
    const flawed = two.when(does("a"), does("b"), starts("c"), answers("c", 1, { flaw: misshapen }));
    expect(result(flawed).status).toBe("partial");
    expect(result(flawed.when(resolves("c", happened({ id: "c" })))).status).toBe("completed");
  });

  it("is partial when a person said no to the rest", () => {
    const held = given(accepts(plan(step("a"), send), { mode: "human_gated" })).when(does("a"), starts("send"));
    expect(result(held.when(rejects("send")))).toMatchObject({
      status: "partial",
      failed: [{ step_id: "send", state: "rejected", fault: { code: "GATE_REJECTED" } }],
    });
  });
});
