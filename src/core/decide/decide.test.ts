import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { accepts, approves, closes, rejects, resolves, starts } from "../../testing/given/commands.ts";
import { ana, hireRun, noon, plan, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenAction, type GivenRun, given } from "../../testing/given/given.ts";
import { driveRandomRun, type RandomChoice, randomPlan } from "../../testing/given/random-run.ts";
import type { Event } from "../event/event.ts";
import { evolve, foldEvents } from "../evolve/evolve.ts";
import { isReplanStep } from "../run/plan-in-force.ts";
import { emptyRun, getStep, type Run, stepsParkedForTools } from "../run/run.ts";
import { runResult } from "../run/run-result.ts";
import { nextWakeAt, runDueAt, stepWakeAt } from "../run/run-wakeups.ts";
import { isUndoStep, type Step, type StepState, stepPace } from "../run/step.ts";
import type { Instant, Tenant } from "../values/ids.ts";

/** The allowed transitions of a step. A step with one event passes through several states within it. */
const begun: readonly StepState[] = ["running", "succeeded", "failed_retryable", "failed_final"];
const held: readonly StepState[] = ["waiting_approval", "waiting", "rejected"];
const transitions: Readonly<Record<StepState, readonly StepState[]>> = {
  pending: ["ready", "skipped", "cancelled"],
  ready: [...begun, ...held, "skipped", "cancelled", "in_doubt"], // In doubt: a resend that did not happen.
  waiting_approval: ["ready", "rejected", "cancelled", "skipped"],
  waiting: [...begun, ...held, "ready", "skipped", "cancelled", "in_doubt"],
  running: ["succeeded", "failed_retryable", "failed_final", "in_doubt", "ready", "cancelled", "skipped"],
  failed_retryable: [...begun, ...held, "cancelled", "skipped"],
  in_doubt: ["succeeded", "ready", "failed_final", "compensating", "cancelled", "skipped"], // The last two: an absent act.
  succeeded: ["compensating"],
  failed_final: ["compensating", "succeeded", "pending", "ready"],
  rejected: ["pending", "ready"],
  skipped: ["pending", "ready"],
  cancelled: [],
  compensating: ["compensated", "compensation_failed"],
  compensated: [],
  compensation_failed: ["compensating"],
};

/** Invariants between a run and the same run after one more command. */
const invariants: Readonly<Record<string, (before: GivenRun, after: GivenRun) => void>> = {
  "has counters that agree with its steps": (_, { run }) => assert.deepEqual(counted(run), recounted(run)),

  "changes its steps only by allowed transitions": ({ run }, { newEvents }) => {
    each(run, newEvents, (event, before, after) => {
      for (const [from, to] of changes(before, after))
        assert.ok(transitions[from].includes(to), `${event.type} leads from ${from} to ${to}`);
    });
  },

  "stays ended until it is resumed, resolved or undone": (before, after) => {
    const reopens = after.newEvents.some(({ type }) =>
      ["run.resumed", "step.settled", "step.compensating"].includes(type),
    );
    if (before.run.ended !== null && !reopens) assert.deepEqual(after.run.ended, before.run.ended);
  },

  "has ended, or has a step that moves or waits": (_, { run }) => {
    const { moving, retrying, waiting } = run.paces;
    assert.equal(run.ended === null, moving + retrying + waiting > 0);
    if (run.ended === null && moving + retrying === 0 && runDueAt(run) === null)
      assert.match(String(runResult(run).next), /^(approve|find out|register)/);
  },

  "starts only undos once it is cancelled or stopped": (before, { run, newEvents, decision }) => {
    if (before.run.cancel === null && before.run.stopped === null) return;
    if (newEvents.some(({ type }) => type === "run.resumed")) return;
    for (const event of newEvents) if (event.type === "step.started") assert.ok(isUndoStep(getStep(run, event)));
    if (decision.grant !== null) assert.ok(isUndoStep(getStep(run, decision.grant)));
  },

  "has no doubt and no running act on a step that is done": (_, { run }) => {
    const open = ["started", "in_doubt"];
    for (const { standing, act, spec } of run.steps)
      if (stepPace(standing) === "done")
        assert.ok(!open.includes(act?.state ?? ""), `${spec.step_id} is ${standing.state}`);
  },

  "has an unfinished undo step for every act that is being undone": (_, { run }) => {
    for (const { standing } of run.steps) {
      if (standing.state !== "compensating") continue;
      assert.notEqual(stepPace(getStep(run, { step_id: standing.undo }).standing), "done");
    }
  },

  "keeps a gate open exactly as long as its step waits for it": (_, { run }) => {
    for (const [gate_id, gate] of run.gates) {
      const { standing } = getStep(run, gate);
      assert.equal(gate.status === "open", standing.state === "waiting_approval" && standing.gate_id === gate_id);
    }
  },

  "never spends less, and counts each attempt once": (before, { run }) => {
    const attempts = Array.from(run.steps, (step) => step.attempts).reduce((sum, count) => sum + count, 0);
    assert.equal(run.spent.attempts, attempts);
    assert.ok(run.spent.usd_micros >= before.run.spent.usd_micros);
  },
};

/** The laws of runs that other plans continue. */
const replanningLaws: Readonly<Record<string, (before: GivenRun, after: GivenRun) => void>> = {
  "starts and resets no step of a replaced plan": (before, { run, newEvents, decision }) => {
    const from = before.run.replanning?.from ?? 0;
    const isReplacedStep = (step: Step) => step.index < from && !isUndoStep(step);
    each(before.run, newEvents, (_event, earlier, later) => {
      if (from === 0) return;
      for (const step of later.steps) {
        const moved = earlier.index.has(step.spec.step_id) && getStep(earlier, step.spec).standing !== step.standing;
        if (moved && isReplacedStep(step)) assert.ok(!["ready", "pending", "running"].includes(step.standing.state));
      }
    });
    if (decision.grant !== null) assert.ok(!isReplacedStep(getStep(run, decision.grant)));
  },

  "is asked at most as often as its terms say, and has another plan only while it has not ended": (before, { run }) => {
    const { replanning } = run;
    if (replanning === null || before.run.replanning === null) return;
    assert.ok(replanning.asked <= (replanning.terms?.attempts ?? 0));
    if (before.run.ended !== null && run.ended !== null) assert.equal(replanning.plans, before.run.replanning.plans);
  },
};

const someChoices = (minLength: number, maxLength: number): fc.Arbitrary<readonly RandomChoice[]> =>
  fc.array(fc.tuple(fc.nat(9999), fc.nat(9999)), { minLength, maxLength, size: "max" });

const property = (holds: (plan: readonly RandomChoice[], list: readonly RandomChoice[]) => void, numRuns: number) =>
  fc.assert(fc.property(someChoices(5, 5), someChoices(1, 80), holds), { numRuns });

describe("a run under any commands", () => {
  it.each(Object.entries({ ...invariants, ...replanningLaws }))("%s", (_, holds) => {
    property((made, list) => void driveRandomRun(randomPlan(made), list, holds), 40);
  });

  it("equals the fold of its events, also after serialisation", () => {
    property((made, list) => {
      const { events: past, run } = driveRandomRun(randomPlan(made), list);
      assert.deepEqual(toPlain(foldEvents(empty, past)), toPlain(run));
      assert.deepEqual(toPlain(foldEvents(empty, JSON.parse(JSON.stringify(past)))), toPlain(run));
    }, 40);
  });

  it("acts twice for one key and generation only after a proof, a promise or a decision of a person", () => {
    property((made, list) => {
      const open = new Set<string>();
      for (const event of driveRandomRun(randomPlan(made), list).events) {
        if (!("step_id" in event)) continue;
        const again = event.type === "step.settled" && ["not_done", "absent", "resend"].includes(event.settled.as);
        if (again || (event.type === "step.failed" && event.output === undefined)) open.delete(event.step_id);
        if (event.type !== "step.started" || event.ledger === null) continue;
        assert.ok(!open.has(event.step_id), `${event.step_id} acts again`);
        open.add(event.step_id);
      }
    }, 40);
  });
});

describe("an impossible command", () => {
  const stranger = { ...ana, tenant: "globex" as Tenant };

  it("fails an assertion for a run that was never accepted", () => {
    expect(() => given().when(closes)).toThrow("only an accepted run");
  });

  it.each<[string, GivenAction]>([
    ["approve", approves("send", stranger)],
    ["reject", rejects("send", stranger)],
    ["resolve", resolves("send", { as: "absent" }, stranger)],
    ["cancel", { type: "cancel", now: noon, principal: stranger, reason: "" }],
    ["resume", { type: "resume", verb: "resume", now: noon, principal: stranger, reason: "" }],
  ])("fails an assertion for %s by another tenant", (_, move) => {
    const scenario = given(accepts(plan(step("send", { tool: sendMail })), { mode: "human_gated" })).when(
      starts("send"),
    );
    expect(() => scenario.when(move)).toThrow("a run is commanded by its own tenant");
  });

  it.each(["start", "end", "settle", "recover"])("fails an assertion for %s of an unknown step", (verb) => {
    const scenario = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send"));
    const grant = { ...scenario.grant("send"), step_id: "unknown" };
    const command = {
      type: verb,
      now: scenario.now,
      step_id: "unknown",
      grant,
      found: [{ step_id: "unknown" }],
      rules: null,
      proposal: {},
      policy: null,
    };
    expect(() => scenario.when(command as never)).toThrow("a step of the run");
  });

  it("fails an assertion for an unknown type", () => {
    const scenario = given(accepts(plan(step("send"))));
    expect(() => scenario.when({ type: "dream", now: scenario.now } as never)).toThrow("unhandled variant");
  });

  it("fails an assertion for an act without a key", () => {
    const scenario = given(accepts(plan(step("send", { tool: sendMail }))));
    expect(() => scenario.when(starts("send", { call: null }))).toThrow("an act is proposed with its key");
  });

  it("fails an assertion for an event of an unknown step or gate", () => {
    const { run, now } = given(accepts(plan(step("send"))));
    const unknown = { type: "step.readied", at: now, step_id: "unknown", why: "" } as unknown as Event;
    expect(() => evolve(run, unknown)).toThrow("the run has the step of the event");
    const gate = { type: "gate.expired", at: now, gate_id: "nowhere" } as unknown as Event;
    expect(() => evolve(run, gate)).toThrow("only an opened gate");
  });
});

const empty = emptyRun(hireRun, given().run.tenant);

/** Converts a run to plain objects for comparison. */
function toPlain(run: Run): object {
  const { steps, index, gates, waiting, notices, fresh: _fresh, ...rest } = run;
  const sorted = <Value>(map: Iterable<readonly [string, Value]>) =>
    [...map].sort(([left], [right]) => (left < right ? -1 : 1));
  const places = [...steps].map(({ spec }) => index.get(spec.step_id));
  const maps = { places, gates: sorted(gates), waiting: sorted(waiting), notices: sorted(notices) };
  return { ...rest, ...maps, steps: [...steps] };
}

function each(run: Run, events: readonly Event[], look: (event: Event, before: Run, after: Run) => void): void {
  let before = run;
  for (const event of events) {
    const after = evolve(before, event);
    look(event, before, after);
    before = after;
  }
}

function* changes(before: Run, after: Run): Iterable<readonly [StepState, StepState]> {
  for (const { index, standing } of before.steps) {
    const moved = after.steps.get(index).standing.state;
    if (moved !== standing.state) yield [standing.state, moved];
  }
}

function counted(run: Run): object {
  const { paces, succeeded, waiting, steps } = run;
  const missing = Array.from(steps, (step) => (step.standing.state === "pending" ? step.missing : null));
  const unserved = stepsParkedForTools(run).map(({ spec }) => spec.step_id);
  const ids = { waiting: Array.from(waiting, ([id]) => id).sort(), unserved: unserved.sort() };
  return { paces, succeeded, ...ids, missing, wake: nextWakeAt(run) };
}

function recounted(run: Run): object {
  const { steps, index } = run;
  const all = [...steps];
  const at = (wanted: string) => all.filter(({ standing }) => stepPace(standing) === wanted);
  const hasSucceeded = ({ standing }: Step) => standing.state === "succeeded";
  const missing = all.map(({ standing, spec }) => {
    const needed = spec.depends_on.map((id) => steps.get(index.get(id) as number));
    return standing.state === "pending" ? needed.filter((step) => !hasSucceeded(step)).length : null;
  });
  const paces = ["moving", "retrying", "waiting", "blocked", "done"].map((name) => [name, at(name).length]);
  return {
    paces: Object.fromEntries(paces),
    succeeded: all.filter((step) => hasSucceeded(step) && !isUndoStep(step) && !isReplanStep(step)).length,
    waiting: [...at("waiting"), ...at("retrying")].map(({ spec }) => spec.step_id).sort(),
    unserved: all
      .filter(({ standing }) => standing.state === "waiting" && standing.on.for === "tool")
      .map(({ spec }) => spec.step_id)
      .sort(),
    missing,
    wake: all.reduce<Instant | null>((first, step) => earlier(first, stepWakeAt(run, step)), null),
  };
}

function earlier(one: Instant | null, other: Instant | null): Instant | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}
