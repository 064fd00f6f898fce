import { describe, expect, it } from "vitest";
import { digestOf, hire, keyOf, later, ledgerFact, order, plan, sendMail, step } from "../../testing/given/cast.ts";
import { absent, accepts, approves, does, saysNotDone, seen, starts, unclear } from "../../testing/given/moves.ts";
import { given, pass, type Told } from "../../testing/given.ts";
import type { RunId, StepId } from "../id.ts";
import type { LedgerFact, ToolFacts } from "../proposal.ts";
import type { LedgerRow, LedgerState } from "../rows.ts";

/** Who owns the row, seen from step `send` of run `hire`. */
const owners: Readonly<Record<string, Partial<LedgerRow>>> = {
  "the same step": { run_id: hire, origin: hire },
  "another step of the run": { run_id: hire, origin: hire, step_id: "other" as StepId },
  "a fork of the run": { run_id: "run_fork" as RunId, origin: hire },
  "another run": { run_id: order, origin: order },
};

/** What the ledger's answer became. */
function answerOf(told: Told): string {
  const [event] = told.news;
  switch (event?.type) {
    case "step.started":
      return `execute v${event.ledger?.version} g${event.ledger?.generation}`;
    case "step.succeeded":
      return "reuse";
    case "step.parked":
      return "wait";
    case "gate.opened":
      return `hold ${event.reason.split(":")[0]}${event.duplicate_of?.certain ? "" : ", perhaps"}`;
    case "step.rejected":
      return `refuse ${event.fault.code}`;
    default:
      return told.decision.need ?? "nothing";
  }
}

function asking(tool: Partial<ToolFacts>, row: Partial<LedgerRow>, fact: Partial<Omit<LedgerFact, "row">> = {}): Told {
  const send = step("send", { tool: { ...sendMail, ...tool }, payload: { to: "send" } });
  return given(accepts(plan(send))).hearing(ledgerFact(row, fact));
}

interface Row {
  readonly state: LedgerState;
  readonly own: string;
  readonly lineage: string;
  readonly stranger: Readonly<Record<ToolFacts["onDuplicate"], string>>;
}

const closed = "hold EFFECT_CLOSED";
const perhaps = `${closed}, perhaps`;
const alike = (answer: string) => ({ hold: answer, reuse: answer, refuse: answer });

const ledger: readonly Row[] = [
  { state: "not_done", own: "execute v6 g1", lineage: "execute v6 g1", stranger: alike("execute v6 g1") },
  { state: "absent", own: "execute v6 g1", lineage: "execute v6 g1", stranger: alike("execute v6 g1") },
  { state: "started", own: "wait", lineage: "wait", stranger: alike("wait") },
  {
    state: "in_doubt",
    own: "refuse OUTCOME_UNKNOWN",
    lineage: "wait",
    stranger: alike("hold DUPLICATE_IN_DOUBT, perhaps"),
  },
  {
    state: "committed",
    own: "reuse",
    lineage: "reuse",
    stranger: { hold: "hold DUPLICATE_EFFECT", reuse: "reuse", refuse: "refuse DUPLICATE_EFFECT" },
  },
  { state: "compensating", own: "refuse EFFECT_CLOSED", lineage: "wait", stranger: alike("wait") },
  { state: "given_up", own: "refuse EFFECT_CLOSED", lineage: perhaps, stranger: alike(perhaps) },
  { state: "compensated", own: "refuse EFFECT_CLOSED", lineage: closed, stranger: alike(closed) },
  { state: "compensation_failed", own: "refuse EFFECT_CLOSED", lineage: closed, stranger: alike(closed) },
];

const cells = ledger.flatMap(({ state, own, lineage, stranger }) =>
  Object.entries(owners).flatMap(([owner, row]) =>
    (["hold", "reuse", "refuse"] as const).map((onDuplicate) => {
      const answer = row === owners["the same step"] ? own : row.run_id === order ? stranger[onDuplicate] : lineage;
      return { state, owner, onDuplicate, answer, row };
    }),
  ),
);

describe("asking the ledger", () => {
  it("executes what nobody has asked for before, as version 1 of generation 1", () => {
    const told = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send"));
    expect(answerOf(told)).toBe("execute v1 g1");
    expect(told.ledgerRow(keyOf("send"))).toMatchObject({
      state: "started",
      run_id: hire,
      step_id: "send",
      attempt: 1,
    });
  });

  it.each(cells)("finds $state by $owner, and with onDuplicate $onDuplicate answers: $answer", (cell) => {
    const told = asking({ onDuplicate: cell.onDuplicate }, { ...cell.row, state: cell.state }).when(starts("send"));
    expect(answerOf(told)).toBe(cell.answer);
    if (cell.answer.startsWith("refuse")) expect(told.said("step.rejected").rule).toBe("ledger");
  });

  it("does not guess what an unknown state means", () => {
    const told = asking({}, { state: "dreamed" as LedgerState });
    expect(() => told.when(starts("send"))).toThrow("unhandled variant");
  });

  it("takes over the row of whoever did nothing", () => {
    const told = asking({}, { state: "not_done" }).when(starts("send"));
    expect(told.ledgerRow(keyOf("send"))).toMatchObject({ run_id: hire, state: "started", generation: 1 });
  });

  it("waits for another's act by looking again after a second, and says for whom", () => {
    const told = asking({}, { state: "started" }).when(starts("send"));
    expect(told.standing("send")).toEqual({
      state: "waiting",
      on: { for: "key", since: later(0), until: later(1000), owner: order, owner_step: "send" },
    });
    expect(told.when(starts("send")).news).toEqual([]);
  });

  it("waits as long again as it has waited, and never more than a minute", () => {
    const waiting = asking({}, { state: "started" }).when(starts("send"));
    const longer = waiting.when(pass(8000), starts("send"));
    expect(longer.standing("send")).toMatchObject({ on: { since: later(0), until: later(16_000) } });
    const longest = longer.when(pass(592_000), starts("send"));
    expect(longest.standing("send")).toMatchObject({ on: { since: later(0), until: later(660_000) } });
  });
});

describe("reusing a receipt", () => {
  const lineage: Partial<LedgerRow> = { run_id: "run_fork" as RunId, origin: hire };

  it("hands out what was recorded and says whose it is", () => {
    const told = asking({}, lineage).when(starts("send"));
    const reused = { run: "run_fork", step: "send", at: later(-1000), differs: null };
    expect(told.said("step.succeeded")).toMatchObject({ output: { id: "mail 1" }, reused, attempt: 0 });
    expect(told.run.spent.attempts).toBe(0);
  });

  it("relies on the row as it was read", () => {
    const told = asking({}, lineage).when(starts("send"));
    expect(told.decision.checks).toEqual([{ table: "ledger", key: keyOf("send"), was: 5 }]);
  });

  it("says so when the recorded call had another input", () => {
    const told = asking({}, { ...lineage, input_digest: digestOf("something else") }).when(starts("send"));
    expect(told.said("step.succeeded").reused?.differs).toBe("the recorded call had another input");
  });

  it.each(Object.entries(owners))("never hands out another input under a template, to %s neither", (_, row) => {
    const templated = step("send", { tool: { ...sendMail, onDuplicate: "reuse" }, idempotency_template: "{to}" });
    const told = given(accepts(plan(templated)))
      .hearing(ledgerFact({ ...row, input_digest: digestOf("something else") }))
      .when(starts("send"));
    expect(answerOf(told)).toBe("hold DUPLICATE_EFFECT");
  });

  it("reuses an equal call under a template", () => {
    const templated = step("send", { tool: sendMail, idempotency_template: "{to}" });
    const told = given(accepts(plan(templated)))
      .hearing(ledgerFact(lineage))
      .when(starts("send"));
    expect(answerOf(told)).toBe("reuse");
  });

  it("holds when the receipt was erased", () => {
    expect(answerOf(asking({}, lineage, { receipt: null }).when(starts("send")))).toBe("hold DUPLICATE_EFFECT");
  });

  it.each(["the same step", "a fork of the run", "another run"])(
    "refuses %s an answer that did not fit its schema",
    (owner) => {
      const told = asking({ onDuplicate: "reuse" }, { ...owners[owner], usable: false }).when(starts("send"));
      expect(answerOf(told)).toBe("refuse SCHEMA_VALIDATION_FAILED");
    },
  );

  it("shows a person a foreign receipt before it is handed out, where a person is asked for", () => {
    const send = step("send", { tool: { ...sendMail, onDuplicate: "reuse" } });
    const held = given(accepts(plan(send), { mode: "human_gated" }))
      .hearing(ledgerFact())
      .when(starts("send"));
    expect(held.said("gate.opened")).toMatchObject({ rule: "mode", duplicate_of: null });
    const told = held.when(approves("send"), starts("send"));
    expect(told.types).toEqual(["gate.approved", "step.succeeded", "run.ended"]);
    expect(told.decision.grant).toBeNull();
    expect(told.said("step.succeeded").reused?.run).toBe(order);
  });

  it("hands a receipt of its own lineage out without asking anyone", () => {
    const told = given(accepts(plan(step("send", { tool: sendMail })), { mode: "human_gated" }))
      .hearing(ledgerFact(lineage))
      .when(starts("send"));
    expect(answerOf(told)).toBe("reuse");
  });
});

describe("confirming a receipt", () => {
  const lineage: Partial<LedgerRow> = { run_id: "run_fork" as RunId, origin: hire };
  const looking = (confirm: ToolFacts["confirm"], fact: Partial<Omit<LedgerFact, "row">> = {}) =>
    asking({ confirm }, lineage, fact).when(starts("send"));

  it.each(["strict", "warn", "gate"] as const)("looks at the world first (%s)", (confirm) => {
    const told = looking(confirm);
    expect(told.decision.need).toBe("sighting");
    expect(told.news).toEqual([]);
  });

  it.each(["strict", "warn", "gate"] as const)("believes what the world confirms (%s)", (confirm) => {
    const told = looking(confirm, { sighting: seen({ id: "mail 1" }) });
    expect(answerOf(told)).toBe("reuse");
    expect(told.said("step.succeeded").warning).toBeUndefined();
  });

  it.each([
    ["is not there", absent, "it is not there"],
    ["differs", { ...seen(null), differs: "the subject is another" }, "the subject is another"],
    ["cannot be seen", unclear, "it could not be confirmed (the mail server is silent)"],
    ["cannot be seen, for no reason given", { saw: "unknown" }, "it could not be confirmed"],
  ] as const)("says what is wrong when it %s", (_, sighting, why) => {
    const message = `send is on record, but the world disagrees: ${why}`;
    expect(looking("strict", { sighting }).said("step.rejected").fault).toMatchObject({
      code: "CONFIRMATION_FAILED",
      message,
    });
    expect(looking("warn", { sighting }).said("step.succeeded").warning).toBe(message);
    expect(looking("gate", { sighting }).said("gate.opened")).toMatchObject({
      reason: `CONFIRMATION_FAILED: ${message}; approving means: yes, again`,
      duplicate_of: { run: "run_fork", step: "send", generation: 1, certain: true },
    });
  });
});

describe("saying yes, again", () => {
  const held = asking({}, {}).when(starts("send"));

  it("opens the next generation of the act", () => {
    const told = held.when(approves("send"), starts("send"));
    expect(
      answerOf(
        given(...told.past.slice(0, 1))
          .hearing(ledgerFact())
          .when(starts("send")),
      ),
    ).toBe("hold DUPLICATE_EFFECT");
    expect(told.said("step.started")).toMatchObject({ ledger: { version: 6, generation: 2 } });
    expect(told.decision.grant?.generation).toBe(2);
    expect(told.gate("send").status).toBe("consumed");
  });

  it("is one yes for the repetition and for the mode", () => {
    const gated = given(accepts(plan(step("send", { tool: sendMail })), { mode: "human_gated" })).hearing(ledgerFact());
    const told = gated.when(starts("send"), approves("send"), starts("send"));
    expect(told.types).toEqual(["gate.opened", "gate.approved", "step.started"]);
  });

  it.each([{ generation: 2 }, { run_id: "run_third" as RunId }, { step_id: "other" as StepId }])(
    "says yes to the very act that was shown, not to one of %j",
    (row) => {
      const told = held.when(approves("send")).hearing(ledgerFact(row)).when(starts("send"));
      const { run_id: run, step_id: step, generation } = ledgerFact(row).row;
      expect(told.said("gate.opened").duplicate_of).toEqual({ run, step, generation, certain: true });
    },
  );

  it("is asked for in words that say what was done, where, and what yes means", () => {
    const reason = (row: Partial<LedgerRow>) => asking({}, row).when(starts("send")).said("gate.opened").reason;
    const again = "approving means: yes, again";
    expect(reason({})).toBe(
      `DUPLICATE_EFFECT: mail.send already did this in run run_order, step send (committed); ${again}`,
    );
    expect(reason({ state: "in_doubt" })).toBe(
      `DUPLICATE_IN_DOUBT: mail.send perhaps already did this in run run_order, step send (in_doubt); ${again}`,
    );
  });

  it("is used once", () => {
    const done = held.when(approves("send"), does("send"));
    expect(done.standing("send").state).toBe("succeeded");
    const again = given(accepts(plan(step("send", { tool: sendMail })))).hearing(ledgerFact({ generation: 2 }));
    expect(answerOf(again.when(starts("send")))).toBe("hold DUPLICATE_EFFECT");
  });

  it("lapses with the time that an approval is good for", () => {
    const told = held.when(approves("send", undefined, { use_within_ms: 1000 }), { passMs: 1001 }, starts("send"));
    expect(told.said("gate.opened").duplicate_of).toMatchObject({ run: order, generation: 1 });
    expect(told.when(approves("send"), starts("send")).said("step.started").ledger?.generation).toBe(2);
  });

  it("repeats an act of its own lineage that was undone, too", () => {
    const undone = asking({}, { run_id: "run_fork" as RunId, origin: hire, state: "compensated" });
    const told = undone.when(starts("send"), approves("send"), starts("send"));
    expect(told.said("step.started").ledger).toEqual({ version: 6, generation: 2 });
  });
});

describe("a later generation that came to nothing", () => {
  const nothing = ["not_done", "absent"] as const;
  const others = Object.entries(owners).filter(([owner]) => owner !== "the same step");
  const free = others.flatMap(([owner, row]) =>
    nothing.map((state) => ({ owner, row: { ...row, state, generation: 2 } })),
  );

  it.each(free)("is not free to anyone but who was told to repeat it ($owner, $row.state)", ({ row }) => {
    const told = asking({}, row).when(starts("send"));
    expect(told.said("gate.opened")).toMatchObject({
      reason: expect.stringContaining("what came before it stands"),
      duplicate_of: { run: row.run_id, generation: 2, certain: false, idle: true },
    });
    expect(told.when(approves("send"), starts("send")).said("step.started").ledger?.generation).toBe(3);
  });

  it("was shown as such: the yes is none to it once it is tried again and may have done something", () => {
    const told = asking({}, { state: "not_done", generation: 2 }).when(starts("send"), approves("send"));
    const doubtful = told.hearing(ledgerFact({ state: "in_doubt", generation: 2 })).when(starts("send"));
    expect(doubtful.said("gate.opened").duplicate_of).toEqual({
      run: order,
      step: "send",
      generation: 2,
      certain: false,
    });
  });

  it("is tried again by who was told, as long as the yes is good", () => {
    const held = asking({}, {}).when(starts("send"), approves("send", undefined, { use_within_ms: 5000 }));
    const failed = held.when(starts("send"), saysNotDone("send", "NETWORK_TIMEOUT"));
    expect(answerOf(failed.when(pass(4000), starts("send")))).toBe("execute v8 g2");
    const late = failed.when(pass(5001), starts("send"));
    expect(late.said("gate.opened").duplicate_of).toMatchObject({ run: hire, generation: 2 });
  });
});
