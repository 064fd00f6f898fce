import fc from "fast-check";
import { describe, it } from "vitest";
import type { Demand as Asked } from "../../src/core/demand.ts";
import type { Call } from "../../src/core/event.ts";
import type { Guard } from "../../src/core/guard.ts";
import type { GateId } from "../../src/core/id.ts";
import type { Principal } from "../../src/core/principal.ts";
import { acme, digestOf, keyOf, noon, plan, readPage, sendMail, step } from "../../src/testing/given/cast.ts";
import * as story from "../../src/testing/given/moves.ts";
import { given, pass, type Move as Telling, type Told } from "../../src/testing/given.ts";
import { agree, effort, patience } from "./effort.ts";
import { type Demand, GATE_MS, GateModel, type Person, USE_WITHIN_MS } from "./gate-model.ts";

const people: readonly Person[] = [
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
/** The last gates opened, the latest first; one that nobody opened now and then. */
const nth = fc.nat(4);

const move = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: always("start"),
      who,
      input: fc.constantFrom(0, 0, 0, 1),
      demand: fc.constantFrom<Demand[]>("nobody", "anyone", "anyone", "two", "two", "cfo", "cfo", "legal"),
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
  #told: Told;
  #demand: Demand = "nobody";

  constructor(requester: Person) {
    this.#model = new GateModel(requester.id, { send: "acts", look: "reads" });
    const policy: Guard = {
      id: "policy",
      judge: () => {
        if (this.#demand === "nobody") return { kind: "allow" };
        return { kind: "hold", rule: "policy", reason: "it says so", demand: demandOf(this.#demand) };
      },
    };
    const lenient = { on_failure: "skip", on_rejected: "continue", retries: 99 } as const;
    const made = plan(step("send", { tool: sendMail, ...lenient }), step("look", { tool: readPage, ...lenient }));
    this.#told = given(story.accepts(made, { principal: principalOf(requester) })).under(policy);
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
    agree(
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
    return ([...this.#model.gates.keys()].reverse()[nth] ?? "gate_of_nobody") as GateId;
  }

  #start({ who, input: to, demand }: Extract<Move, { do: "start" }>): void {
    this.#demand = who === "look" && demand === "nobody" ? "anyone" : demand;
    const gate_id = `gate_${this.#story.length}` as GateId;
    this.#model.start(who, to, this.#demand, gate_id);
    const input = { to };
    const acts = who === "send";
    const call: Call = {
      input,
      digest: digestOf(input),
      key: acts ? keyOf(who) : null,
      keyed_by: acts ? "identity" : null,
    };
    this.#tell(
      story.starts(who, {
        call,
        input,
        gate_id,
        gate_ms: GATE_MS,
        ledger: acts ? this.#told.ledger(keyOf(who)) : null,
      }),
    );
  }

  #end({ who, how }: Extract<Move, { do: "end" }>): void {
    if (!this.#told.granted(who)) return;
    this.#model.end(who, how);
    const code = how === "again" ? "NETWORK_TIMEOUT" : "INVALID_INPUT";
    this.#tell(how === "done" ? story.answers(who) : story.saysNotDone(who, code, { dice: 0 }));
  }
}

const byId = <Row extends readonly unknown[]>(rows: readonly Row[]): readonly Row[] =>
  [...rows].sort(([a], [b]) => String(a).localeCompare(String(b)));

function demandOf(demand: Demand): Asked {
  if (demand === "two") return { role: null, people: 2 };
  return { role: demand === "cfo" || demand === "legal" ? demand : null };
}

function principalOf(who: Person): Principal {
  return { ...who, tenant: acme };
}

describe("a gate", () => {
  it("lets calls through as its model does, whoever decides whatever gate whenever", patience, () => {
    const stories = fc.array(move, { maxLength: 60, size: "max" });
    fc.assert(
      fc.property(person, stories, (requester, moves) => {
        const both = new Both(requester);
        for (const each of moves) both.make(each);
      }),
      effort(400),
    );
  });
});
