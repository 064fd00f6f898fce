import fc from "fast-check";
import { describe, it } from "vitest";
import type { Demand as Asked } from "../../../src/core/approval/approval-demand.ts";
import type { Principal } from "../../../src/core/approval/principal.ts";
import type { Guard } from "../../../src/core/call/guard.ts";
import type { Call } from "../../../src/core/event/event.ts";
import type { GateId } from "../../../src/core/values/ids.ts";
import * as story from "../../../src/testing/given/commands.ts";
import {
  acme,
  fakeDigest,
  fakeKey,
  noon,
  plan,
  readPage,
  sendMail,
  step,
} from "../../../src/testing/given/fixtures.ts";
import { type GivenRun, given, pass, type GivenAction as Telling } from "../../../src/testing/given/given.ts";
import { GATE_MS, GateModel, type ModelDemand, type ModelPerson, USE_WITHIN_MS } from "./gate-model.ts";
import { assertModelAgrees, modelRuns, modelTimeout } from "./model-runs.ts";

const people: readonly ModelPerson[] = [
  { id: "robin", kind: "agent", roles: ["cfo", "legal"] },
  { id: "cron", kind: "service", roles: ["cfo"] },
  { id: "ana", kind: "person", roles: [] },
  { id: "bob", kind: "person", roles: ["cfo"] },
  { id: "cleo", kind: "person", roles: ["legal", "cfo"] },
];
const steps = ["send", "look"] as const;

const always = <const What extends string>(what: What) => fc.constant(what);
const who = fc.constantFrom(...steps);
const person = fc.constantFrom(...people);
/** Index of an opened gate, the latest first; sometimes of a gate that does not exist. */
const nth = fc.nat(4);

const move = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: always("start"),
      who,
      input: fc.constantFrom(0, 0, 0, 1),
      demand: fc.constantFrom<ModelDemand[]>("none", "anyone", "anyone", "two", "two", "cfo", "cfo", "legal"),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: always("decide"), nth, person, yes: fc.constantFrom(true, true, true, false) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: always("end"), who, how: fc.constantFrom("done", "again", "again", "failed") }),
  },
  { weight: 2, arbitrary: fc.record({ do: always("recover"), who }) },
  { weight: 2, arbitrary: fc.record({ do: always("expire"), nth }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: always("pass"),
      ms: fc.constantFrom(1, USE_WITHIN_MS - 1, USE_WITHIN_MS, GATE_MS - 1, GATE_MS),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: always("resume") }) },
  { weight: 1, arbitrary: fc.record({ do: always("cancel") }) },
);
type Move = typeof move extends fc.Arbitrary<infer Made> ? Made : never;

/** Two steps that a policy holds as it likes, told by the law and by the model. */
class Both {
  readonly #model: GateModel;
  readonly #story: unknown[] = [];
  #told: GivenRun;
  #demand: ModelDemand = "none";

  constructor(requester: ModelPerson) {
    this.#model = new GateModel(requester.id, { send: "acts", look: "reads" });
    const policy: Guard = {
      id: "policy",
      judge: () => {
        if (this.#demand === "none") return { kind: "allow" };
        return { kind: "hold", rule: "policy", reason: "it says so", demand: demandOf(this.#demand) };
      },
    };
    const lenient = { on_failure: "skip", on_rejected: "continue", retries: 99 } as const;
    const made = plan(step("send", { tool: sendMail, ...lenient }), step("look", { tool: readPage, ...lenient }));
    this.#told = given(story.accepts(made, { principal: principalOf(requester) })).withGuards(policy);
  }

  make(move: Move): void {
    this.#story.push(move);
    const refused = this.#do(move);
    const { run } = this.#told;
    const refusal = move.do === "decide" ? (this.#told.decision.refusal?.code ?? null) : null;
    const gates = [...run.gates].map(([id, { status, use_by, decided_by, demand, votes, version }]) => [
      id,
      status,
      use_by === null ? null : use_by - noon,
      decided_by,
      demand,
      votes.map(({ by }) => by),
      version,
    ]);
    const expected = [...this.#model.gates.values()].map(({ id, status, useBy, by, demand, votes, changes }) => [
      id,
      status,
      useBy,
      by,
      demandOf(demand),
      votes.map((voter) => voter.id),
      changes,
    ]);
    const states = steps.map((id) => this.#model.step(id).state);
    assertModelAgrees(
      this.#story,
      [refusal, Object.values(this.#told.states), ...byId(gates)],
      [refused, states, ...byId(expected)],
    );
  }

  #do(move: Move): string | null {
    const { now } = this.#told;
    switch (move.do) {
      case "start":
        this.#start(move);
        return null;
      case "decide": {
        const gate_id = this.#gate(move.nth);
        const refused = this.#model.decide(gate_id, move.person, move.yes);
        const decided = { now, gate_id, principal: principalOf(move.person), reason: "", in_flight: [] };
        this.#tell({
          ...decided,
          ...(move.yes ? { type: "approve", use_within_ms: USE_WITHIN_MS } : { type: "reject" }),
        });
        return refused;
      }
      case "end":
        this.#end(move);
        return null;
      case "recover":
        this.#model.recover(move.who);
        this.#tell(story.recovers({ id: move.who, mark: "no" }));
        return null;
      case "expire": {
        const gate_id = this.#gate(move.nth);
        this.#model.expire(gate_id);
        this.#tell({ type: "expire", now, gate_id, in_flight: [] });
        return null;
      }
      case "pass":
        this.#model.now += move.ms;
        this.#tell(pass(move.ms));
        return null;
      default:
        this.#model[move.do]();
        this.#tell(move.do === "resume" ? story.resumes : story.cancels);
        return null;
    }
  }

  #tell(move: Telling): void {
    this.#told = this.#told.when(move);
  }

  #gate(nth: number): GateId {
    return ([...this.#model.gates.keys()].reverse()[nth] ?? "gate_unknown") as GateId;
  }

  #start({ who, input: to, demand }: Extract<Move, { do: "start" }>): void {
    this.#demand = who === "look" && demand === "none" ? "anyone" : demand;
    const gate_id = `gate_${this.#story.length}` as GateId;
    this.#model.start(who, to, this.#demand, gate_id);
    const input = { to };
    const acts = who === "send";
    const call: Call = {
      input,
      digest: fakeDigest(input),
      key: acts ? fakeKey(who) : null,
      keyed_by: acts ? "identity" : null,
    };
    this.#tell(
      story.starts(who, {
        call,
        input,
        gate_id,
        gate_ms: GATE_MS,
        ledger: acts ? this.#told.ledger(fakeKey(who)) : null,
      }),
    );
  }

  #end({ who, how }: Extract<Move, { do: "end" }>): void {
    if (!this.#told.isGranted(who)) return;
    this.#model.end(who, how);
    const code = how === "again" ? "NETWORK_TIMEOUT" : "INVALID_INPUT";
    this.#tell(how === "done" ? story.answers(who) : story.saysNotDone(who, code, { dice: 0 }));
  }
}

const byId = <Row extends readonly unknown[]>(rows: readonly Row[]): readonly Row[] =>
  [...rows].sort(([a], [b]) => String(a).localeCompare(String(b)));

function demandOf(demand: ModelDemand): Asked {
  if (demand === "two") return { role: null, people: 2 };
  return { role: demand === "cfo" || demand === "legal" ? demand : null };
}

function principalOf(who: ModelPerson): Principal {
  return { ...who, tenant: acme };
}

describe("gate", () => {
  it("admits calls as its model does, for any order of decisions", modelTimeout, () => {
    const stories = fc.array(move, { maxLength: 60, size: "max" });
    fc.assert(
      fc.property(person, stories, (requester, moves) => {
        const both = new Both(requester);
        for (const each of moves) both.make(each);
      }),
      modelRuns(400),
    );
  });
});
