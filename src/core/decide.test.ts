import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ana, hire, noon, plan, sendMail, step } from "../testing/given/cast.ts";
import { accepts, approves, rejects, resolves, starts } from "../testing/given/moves.ts";
import { anyPlan, type Choice, wander } from "../testing/given/wander.ts";
import { given, type Move, type Told } from "../testing/given.ts";
import type { Event } from "./event.ts";
import { evolve, fold } from "./evolve.ts";
import type { Instant, Tenant } from "./id.ts";
import { resultOf } from "./result.ts";
import { dueAt, nextWake, parkedForTools, type Run, stepOf, unbornRun, wakeAt } from "./run.ts";
import { isUndo, pace, type State, type Step } from "./step.ts";

/** Every way from one state to another: DESIGN 5, with what a step that appends once passes inside its one event. */
const begun: readonly State[] = ["running", "succeeded", "failed_retryable", "failed_final"];
const held: readonly State[] = ["waiting_approval", "waiting", "rejected"];
const ways: Readonly<Record<State, readonly State[]>> = {
  pending: ["ready", "skipped", "cancelled"],
  ready: [...begun, ...held, "skipped", "cancelled", "in_doubt"], // In doubt: it was to be sent again, and is not.
  waiting_approval: ["ready", "rejected", "cancelled", "skipped"],
  waiting: [...begun, ...held, "ready", "skipped", "cancelled", "in_doubt"],
  running: ["succeeded", "failed_retryable", "failed_final", "in_doubt", "ready", "cancelled", "skipped"],
  failed_retryable: [...begun, ...held, "cancelled", "skipped"],
  in_doubt: ["succeeded", "ready", "failed_final", "compensating", "cancelled", "skipped"], // The last two: found absent.
  succeeded: ["compensating"],
  failed_final: ["compensating", "succeeded", "pending", "ready"],
  rejected: ["pending", "ready"],
  skipped: ["pending", "ready"],
  cancelled: [],
  compensating: ["compensated", "compensation_failed"],
  compensated: [],
  compensation_failed: ["compensating"],
};

/** What holds between any story and the same story one command later. */
const laws: Readonly<Record<string, (before: Told, after: Told) => void>> = {
  "never disagrees with its own counters": (_, { run }) => assert.deepEqual(counted(run), recounted(run)),

  "moves its steps only along the ways of the law": ({ run }, { news }) => {
    each(run, news, (event, before, after) => {
      for (const [from, to] of changes(before, after))
        assert.ok(ways[from].includes(to), `${event.type} leads from ${from} to ${to}`);
    });
  },

  "stays ended until it is resumed, resolved or undone": (before, after) => {
    const reopens = after.news.some(({ type }) => ["run.resumed", "step.settled", "step.compensating"].includes(type));
    if (before.run.ended !== null && !reopens) assert.deepEqual(after.run.ended, before.run.ended);
  },

  "has ended, or waits for someone or some time, or moves": (_, { run }) => {
    const { moving, retrying, waiting } = run.paces;
    assert.equal(run.ended === null, moving + retrying + waiting > 0);
    if (run.ended === null && moving + retrying === 0 && dueAt(run) === null)
      assert.match(String(resultOf(run).next), /^(approve|find out|register)/);
  },

  "starts nothing but undoes once it was cancelled or ended by a step": (before, { run, news, decision }) => {
    if (before.run.cancel === null && before.run.stopped === null) return;
    if (news.some(({ type }) => type === "run.resumed")) return;
    for (const event of news) if (event.type === "step.started") assert.ok(isUndo(stepOf(run, event)));
    if (decision.grant !== null) assert.ok(isUndo(stepOf(run, decision.grant)));
  },

  "leaves no doubt and no call in flight behind a step that has come to its end": (_, { run }) => {
    const open = ["started", "in_doubt"];
    for (const { standing, act, spec } of run.steps)
      if (pace(standing) === "done")
        assert.ok(!open.includes(act?.state ?? ""), `${spec.step_id} is ${standing.state}`);
  },

  "undoes with a step that has not come to its end": (_, { run }) => {
    for (const { standing } of run.steps) {
      if (standing.state !== "compensating") continue;
      assert.notEqual(pace(stepOf(run, { step_id: standing.undo }).standing), "done");
    }
  },

  "keeps a gate open exactly as long as its step waits for it": (_, { run }) => {
    for (const [gate_id, gate] of run.gates) {
      const { standing } = stepOf(run, gate);
      assert.equal(gate.status === "open", standing.state === "waiting_approval" && standing.gate_id === gate_id);
    }
  },

  "spends only more, and counts an attempt once": (before, { run }) => {
    const attempts = Array.from(run.steps, (step) => step.attempts).reduce((sum, count) => sum + count, 0);
    assert.equal(run.spent.attempts, attempts);
    assert.ok(run.spent.usd_micros >= before.run.spent.usd_micros);
  },
};

const someChoices = (minLength: number, maxLength: number): fc.Arbitrary<readonly Choice[]> =>
  fc.array(fc.tuple(fc.nat(9999), fc.nat(9999)), { minLength, maxLength, size: "max" });

const property = (holds: (plan: readonly Choice[], list: readonly Choice[]) => void, numRuns: number) =>
  fc.assert(fc.property(someChoices(5, 5), someChoices(1, 80), holds), { numRuns });

describe("a run under any commands", () => {
  it.each(Object.entries(laws))("%s", (_, holds) => {
    property((made, list) => void wander(anyPlan(made), list, holds), 40);
  });

  it("is what its events add up to, from memory and from the store alike", () => {
    property((made, list) => {
      const { past, run } = wander(anyPlan(made), list);
      assert.deepEqual(plainly(fold(unborn, past)), plainly(run));
      assert.deepEqual(plainly(fold(unborn, JSON.parse(JSON.stringify(past)))), plainly(run));
    }, 40);
  });

  it("acts a second time for one key and generation only after a proof, a promise or a person's word", () => {
    property((made, list) => {
      const open = new Set<string>();
      for (const event of wander(anyPlan(made), list).past) {
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

describe("asking for the impossible", () => {
  const stranger = { ...ana, tenant: "globex" as Tenant };

  it("is a bug of whoever asks, for a run that was never accepted", () => {
    expect(() => given().when({ type: "close", now: given().now })).toThrow("only an accepted run");
  });

  it.each<[string, Move]>([
    ["approve", approves("send", stranger)],
    ["reject", rejects("send", stranger)],
    ["resolve", resolves("send", { as: "absent" }, stranger)],
    ["cancel", { type: "cancel", now: noon, principal: stranger, reason: "" }],
    ["resume", { type: "resume", now: noon, principal: stranger, reason: "" }],
  ])("is a bug of whoever asks, to %s in the name of another tenant", (_, move) => {
    const told = given(accepts(plan(step("send", { tool: sendMail })), { mode: "human_gated" })).when(starts("send"));
    expect(() => told.when(move)).toThrow("a run is commanded by its own tenant");
  });

  it.each(["start", "end", "settle", "recover"])("is a bug of whoever asks, to %s a step that is not there", (verb) => {
    const told = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send"));
    const grant = { ...told.grant("send"), step_id: "nobody" };
    const command = {
      type: verb,
      now: told.now,
      step_id: "nobody",
      grant,
      found: [{ step_id: "nobody" }],
      proposal: {},
    };
    expect(() => told.when(command as never)).toThrow("a step of the run");
  });

  it("is a bug of whoever asks, to ask for something that nobody has heard of", () => {
    const told = given(accepts(plan(step("send"))));
    expect(() => told.when({ type: "dream", now: told.now } as never)).toThrow("unhandled variant");
  });

  it("is a bug of whoever asks, to act without a key", () => {
    const told = given(accepts(plan(step("send", { tool: sendMail }))));
    expect(() => told.when(starts("send", { call: null }))).toThrow("an act is proposed with its key");
  });

  it("is no fact of this run, if no step or gate of it is meant", () => {
    const { run, now } = given(accepts(plan(step("send"))));
    const unknown = { type: "step.readied", at: now, step_id: "nobody", why: "" } as unknown as Event;
    expect(() => evolve(run, unknown)).toThrow("one of its steps");
    const gate = { type: "gate.expired", at: now, gate_id: "nowhere" } as unknown as Event;
    expect(() => evolve(run, gate)).toThrow("only an opened gate");
  });
});

const unborn = unbornRun(hire, given().run.tenant);

/** A run without its persistent structures, to be compared. */
function plainly(run: Run): object {
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

function* changes(before: Run, after: Run): Iterable<readonly [State, State]> {
  for (const { index, standing } of before.steps) {
    const moved = after.steps.get(index).standing.state;
    if (moved !== standing.state) yield [standing.state, moved];
  }
}

function counted(run: Run): object {
  const { paces, succeeded, waiting, steps } = run;
  const missing = Array.from(steps, (step) => (step.standing.state === "pending" ? step.missing : null));
  const unserved = parkedForTools(run).map(({ spec }) => spec.step_id);
  const ids = { waiting: Array.from(waiting, ([id]) => id).sort(), unserved: unserved.sort() };
  return { paces, succeeded, ...ids, missing, wake: nextWake(run) };
}

function recounted(run: Run): object {
  const { steps, index } = run;
  const all = [...steps];
  const at = (wanted: string) => all.filter(({ standing }) => pace(standing) === wanted);
  const hasSucceeded = ({ standing }: Step) => standing.state === "succeeded";
  const missing = all.map(({ standing, spec }) => {
    const needed = spec.depends_on.map((id) => steps.get(index.get(id) as number));
    return standing.state === "pending" ? needed.filter((step) => !hasSucceeded(step)).length : null;
  });
  const paces = ["moving", "retrying", "waiting", "blocked", "done"].map((name) => [name, at(name).length]);
  return {
    paces: Object.fromEntries(paces),
    succeeded: all.filter((step) => hasSucceeded(step) && !isUndo(step)).length,
    waiting: [...at("waiting"), ...at("retrying")].map(({ spec }) => spec.step_id).sort(),
    unserved: all
      .filter(({ standing }) => standing.state === "waiting" && standing.on.for === "tool")
      .map(({ spec }) => spec.step_id)
      .sort(),
    missing,
    wake: all.reduce<Instant | null>((first, step) => earlier(first, wakeAt(run, step)), null),
  };
}

function earlier(one: Instant | null, other: Instant | null): Instant | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}
