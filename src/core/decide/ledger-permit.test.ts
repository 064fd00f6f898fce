import { describe, expect, it } from "vitest";
import {
  accepts,
  approves,
  does,
  saysNotDone,
  sightingAbsent,
  sightingHappened,
  sightingUnclear,
  starts,
} from "../../testing/given/commands.ts";
import {
  fakeDigest,
  fakeKey,
  hireRun,
  later,
  ledgerFact,
  orderRun,
  plan,
  sendMail,
  step,
} from "../../testing/given/fixtures.ts";
import { type GivenRun, given, pass } from "../../testing/given/given.ts";
import type { LedgerFact, ToolFacts } from "../call/proposal.ts";
import type { LedgerRow, LedgerState } from "../store/tables.ts";
import type { RunId, StepId } from "../values/ids.ts";

/** The owners of the row, relative to step `send` of run `hire`. */
const owners: Readonly<Record<string, Partial<LedgerRow>>> = {
  "the same step": { run_id: hireRun, origin: hireRun },
  "another step of the run": { run_id: hireRun, origin: hireRun, step_id: "other" as StepId },
  "a fork of the run": { run_id: "run_fork" as RunId, origin: hireRun },
  "another run": { run_id: orderRun, origin: orderRun },
};

/** Describes the decision of the ledger. */
function answerOf(scenario: GivenRun): string {
  const [event] = scenario.newEvents;
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
      return scenario.decision.need ?? "nothing";
  }
}

function asking(
  tool: Partial<ToolFacts>,
  row: Partial<LedgerRow>,
  fact: Partial<Omit<LedgerFact, "row">> = {},
): GivenRun {
  const send = step("send", { tool: { ...sendMail, ...tool }, payload: { to: "send" } });
  return given(accepts(plan(send))).withLedgerFact(ledgerFact(row, fact));
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
      const answer = row === owners["the same step"] ? own : row.run_id === orderRun ? stranger[onDuplicate] : lineage;
      return { state, owner, onDuplicate, answer, row };
    }),
  ),
);

describe("the ledger", () => {
  it("executes an act with a new key, as version 1 of generation 1", () => {
    const scenario = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send"));
    expect(answerOf(scenario)).toBe("execute v1 g1");
    expect(scenario.ledgerRow(fakeKey("send"))).toMatchObject({
      state: "started",
      run_id: hireRun,
      step_id: "send",
      attempt: 1,
    });
  });

  it.each(cells)("with $state by $owner and onDuplicate $onDuplicate decides: $answer", (cell) => {
    const scenario = asking({ onDuplicate: cell.onDuplicate }, { ...cell.row, state: cell.state }).when(starts("send"));
    expect(answerOf(scenario)).toBe(cell.answer);
    if (cell.answer.startsWith("refuse")) expect(scenario.newEvent("step.rejected").rule).toBe("ledger");
  });

  it("fails an assertion for an unknown state", () => {
    const scenario = asking({}, { state: "dreamed" as LedgerState });
    expect(() => scenario.when(starts("send"))).toThrow("unhandled variant");
  });

  it("lets an act use the row of an act that did nothing", () => {
    const scenario = asking({}, { state: "not_done" }).when(starts("send"));
    expect(scenario.ledgerRow(fakeKey("send"))).toMatchObject({ run_id: hireRun, state: "started", generation: 1 });
  });

  it("makes a step wait for the act of another run, and check again after a second", () => {
    const scenario = asking({}, { state: "started" }).when(starts("send"));
    expect(scenario.standing("send")).toEqual({
      state: "waiting",
      on: { for: "key", since: later(0), until: later(1000), owner: orderRun, owner_step: "send" },
    });
    expect(scenario.when(starts("send")).newEvents).toEqual([]);
  });

  it("doubles the time between two checks, up to a minute", () => {
    const waiting = asking({}, { state: "started" }).when(starts("send"));
    const longer = waiting.when(pass(8000), starts("send"));
    expect(longer.standing("send")).toMatchObject({ on: { since: later(0), until: later(16_000) } });
    const longest = longer.when(pass(592_000), starts("send"));
    expect(longest.standing("send")).toMatchObject({ on: { since: later(0), until: later(660_000) } });
  });
});

describe("the reuse of a receipt", () => {
  const lineage: Partial<LedgerRow> = { run_id: "run_fork" as RunId, origin: hireRun };

  it("returns the recorded output and names its source", () => {
    const scenario = asking({}, lineage).when(starts("send"));
    const reused = { run: "run_fork", step: "send", at: later(-1000), differs: null };
    expect(scenario.newEvent("step.succeeded")).toMatchObject({ output: { id: "mail 1" }, reused, attempt: 0 });
    expect(scenario.run.spent.attempts).toBe(0);
  });

  it("has the version of the row as a condition", () => {
    const scenario = asking({}, lineage).when(starts("send"));
    expect(scenario.decision.checks).toEqual([{ table: "ledger", key: fakeKey("send"), was: 5 }]);
  });

  it("records that the earlier call had another input", () => {
    const scenario = asking({}, { ...lineage, input_digest: fakeDigest("something else") }).when(starts("send"));
    expect(scenario.newEvent("step.succeeded").reused?.differs).toBe("the recorded call had another input");
  });

  it.each(Object.entries(owners))("is refused for another input under a template, also for %s", (_, row) => {
    const templated = step("send", { tool: { ...sendMail, onDuplicate: "reuse" }, idempotency_template: "{to}" });
    const scenario = given(accepts(plan(templated)))
      .withLedgerFact(ledgerFact({ ...row, input_digest: fakeDigest("something else") }))
      .when(starts("send"));
    expect(answerOf(scenario)).toBe("hold DUPLICATE_EFFECT");
  });

  it("is allowed for an equal call under a template", () => {
    const templated = step("send", { tool: sendMail, idempotency_template: "{to}" });
    const scenario = given(accepts(plan(templated)))
      .withLedgerFact(ledgerFact(lineage))
      .when(starts("send"));
    expect(answerOf(scenario)).toBe("reuse");
  });

  it("is held if the receipt was erased", () => {
    expect(answerOf(asking({}, lineage, { receipt: null }).when(starts("send")))).toBe("hold DUPLICATE_EFFECT");
  });

  it.each(["the same step", "a fork of the run", "another run"])(
    "is refused to %s if the output is invalid",
    (owner) => {
      const scenario = asking({ onDuplicate: "reuse" }, { ...owners[owner], usable: false }).when(starts("send"));
      expect(answerOf(scenario)).toBe("refuse SCHEMA_VALIDATION_FAILED");
    },
  );

  it("of another run needs an approval if a guard holds the call", () => {
    const send = step("send", { tool: { ...sendMail, onDuplicate: "reuse" } });
    const held = given(accepts(plan(send), { mode: "human_gated" }))
      .withLedgerFact(ledgerFact())
      .when(starts("send"));
    expect(held.newEvent("gate.opened")).toMatchObject({ rule: "mode", duplicate_of: null });
    const scenario = held.when(approves("send"), starts("send"));
    expect(scenario.newEventTypes).toEqual(["gate.approved", "step.succeeded", "run.ended"]);
    expect(scenario.decision.grant).toBeNull();
    expect(scenario.newEvent("step.succeeded").reused?.run).toBe(orderRun);
  });

  it("of its own lineage needs no approval", () => {
    const scenario = given(accepts(plan(step("send", { tool: sendMail })), { mode: "human_gated" }))
      .withLedgerFact(ledgerFact(lineage))
      .when(starts("send"));
    expect(answerOf(scenario)).toBe("reuse");
  });
});

describe("the confirmation of a receipt", () => {
  const lineage: Partial<LedgerRow> = { run_id: "run_fork" as RunId, origin: hireRun };
  const looking = (confirm: ToolFacts["confirm"], fact: Partial<Omit<LedgerFact, "row">> = {}) =>
    asking({ confirm }, lineage, fact).when(starts("send"));

  it.each(["strict", "warn", "gate"] as const)("asks the verifier first (%s)", (confirm) => {
    const scenario = looking(confirm);
    expect(scenario.decision.need).toBe("sighting");
    expect(scenario.newEvents).toEqual([]);
  });

  it.each(["strict", "warn", "gate"] as const)("reuses a confirmed result (%s)", (confirm) => {
    const scenario = looking(confirm, { sighting: sightingHappened({ id: "mail 1" }) });
    expect(answerOf(scenario)).toBe("reuse");
    expect(scenario.newEvent("step.succeeded").warning).toBeUndefined();
  });

  it.each([
    ["is absent", sightingAbsent, "it is not there"],
    ["differs", { ...sightingHappened(null), differs: "the subject is another" }, "the subject is another"],
    ["cannot be verified", sightingUnclear, "it could not be confirmed (the mail server is silent)"],
    ["cannot be verified, without a reason", { saw: "unknown" }, "it could not be confirmed"],
  ] as const)("gives the reason if the act %s", (_, sighting, why) => {
    const message = `send is recorded, but the verifier disagrees: ${why}`;
    expect(looking("strict", { sighting }).newEvent("step.rejected").fault).toMatchObject({
      code: "CONFIRMATION_FAILED",
      message,
    });
    expect(looking("warn", { sighting }).newEvent("step.succeeded").warning).toBe(message);
    expect(looking("gate", { sighting }).newEvent("gate.opened")).toMatchObject({
      reason: `CONFIRMATION_FAILED: ${message}; an approval repeats it`,
      duplicate_of: { run: "run_fork", step: "send", generation: 1, certain: true },
    });
  });
});

describe("the approval of a repeat", () => {
  const held = asking({}, {}).when(starts("send"));

  it("starts the next generation of the act", () => {
    const scenario = held.when(approves("send"), starts("send"));
    expect(
      answerOf(
        given(...scenario.events.slice(0, 1))
          .withLedgerFact(ledgerFact())
          .when(starts("send")),
      ),
    ).toBe("hold DUPLICATE_EFFECT");
    expect(scenario.newEvent("step.started")).toMatchObject({ ledger: { version: 6, generation: 2 } });
    expect(scenario.decision.grant?.generation).toBe(2);
    expect(scenario.gate("send").status).toBe("consumed");
  });

  it("covers both the repeat and the mode", () => {
    const gated = given(accepts(plan(step("send", { tool: sendMail })), { mode: "human_gated" })).withLedgerFact(
      ledgerFact(),
    );
    const scenario = gated.when(starts("send"), approves("send"), starts("send"));
    expect(scenario.newEventTypes).toEqual(["gate.opened", "gate.approved", "step.started"]);
  });

  it.each([{ generation: 2 }, { run_id: "run_third" as RunId }, { step_id: "other" as StepId }])(
    "covers exactly the act that was shown, not one of %j",
    (row) => {
      const scenario = held.when(approves("send")).withLedgerFact(ledgerFact(row)).when(starts("send"));
      const { run_id: run, step_id: step, generation } = ledgerFact(row).row;
      expect(scenario.newEvent("gate.opened").duplicate_of).toEqual({ run, step, generation, certain: true });
    },
  );

  it("is requested with the earlier act, its run and step, and the meaning of an approval", () => {
    const reason = (row: Partial<LedgerRow>) => asking({}, row).when(starts("send")).newEvent("gate.opened").reason;
    const again = "an approval repeats it";
    expect(reason({})).toBe(
      `DUPLICATE_EFFECT: mail.send already did this in run run_order, step send (committed); ${again}`,
    );
    expect(reason({ state: "in_doubt" })).toBe(
      `DUPLICATE_IN_DOUBT: mail.send perhaps already did this in run run_order, step send (in_doubt); ${again}`,
    );
  });

  it("can be used once", () => {
    const done = held.when(approves("send"), does("send"));
    expect(done.standing("send").state).toBe("succeeded");
    const again = given(accepts(plan(step("send", { tool: sendMail })))).withLedgerFact(ledgerFact({ generation: 2 }));
    expect(answerOf(again.when(starts("send")))).toBe("hold DUPLICATE_EFFECT");
  });

  it("expires with the approval", () => {
    const scenario = held.when(approves("send", undefined, { use_within_ms: 1000 }), { passMs: 1001 }, starts("send"));
    expect(scenario.newEvent("gate.opened").duplicate_of).toMatchObject({ run: orderRun, generation: 1 });
    expect(scenario.when(approves("send"), starts("send")).newEvent("step.started").ledger?.generation).toBe(2);
  });

  it("also repeats an undone act of its own lineage", () => {
    const undone = asking({}, { run_id: "run_fork" as RunId, origin: hireRun, state: "compensated" });
    const scenario = undone.when(starts("send"), approves("send"), starts("send"));
    expect(scenario.newEvent("step.started").ledger).toEqual({ version: 6, generation: 2 });
  });
});

describe("a later generation that did nothing", () => {
  const nothing = ["not_done", "absent"] as const;
  const others = Object.entries(owners).filter(([owner]) => owner !== "the same step");
  const free = others.flatMap(([owner, row]) =>
    nothing.map((state) => ({ owner, row: { ...row, state, generation: 2 } })),
  );

  it.each(free)("can be repeated only by the step with the approval ($owner, $row.state)", ({ row }) => {
    const scenario = asking({}, row).when(starts("send"));
    expect(scenario.newEvent("gate.opened")).toMatchObject({
      reason: expect.stringContaining("the earlier act remains"),
      duplicate_of: { run: row.run_id, generation: 2, certain: false, idle: true },
    });
    expect(scenario.when(approves("send"), starts("send")).newEvent("step.started").ledger?.generation).toBe(3);
  });

  it("is part of the approval, which is void once another attempt may have acted", () => {
    const scenario = asking({}, { state: "not_done", generation: 2 }).when(starts("send"), approves("send"));
    const doubtful = scenario.withLedgerFact(ledgerFact({ state: "in_doubt", generation: 2 })).when(starts("send"));
    expect(doubtful.newEvent("gate.opened").duplicate_of).toEqual({
      run: orderRun,
      step: "send",
      generation: 2,
      certain: false,
    });
  });

  it("can be retried by the approved step until the approval expires", () => {
    const held = asking({}, {}).when(starts("send"), approves("send", undefined, { use_within_ms: 5000 }));
    const failed = held.when(starts("send"), saysNotDone("send", "NETWORK_TIMEOUT"));
    expect(answerOf(failed.when(pass(4000), starts("send")))).toBe("execute v8 g2");
    const late = failed.when(pass(5001), starts("send"));
    expect(late.newEvent("gate.opened").duplicate_of).toMatchObject({ run: hireRun, generation: 2 });
  });
});
