/**
 * DESIGN 9 in small: held calls and those who decide them. A yes is worth one call, for a while; it is used by the first
 * start and covers that call's later attempts, and nothing else.
 */
export interface Person {
  readonly id: string;
  readonly kind: "agent" | "person" | "service";
  readonly roles: readonly string[];
}

export interface Gate {
  readonly id: string;
  readonly step: string;
  readonly input: number;
  readonly demand: Demand;
  readonly votes: Person[];
  readonly expiresAt: number;
  status: "open" | "approved" | "rejected" | "expired" | "closed" | "consumed";
  useBy: number | null;
  by: string | null;
  changes: number; // each is written once
}

interface Held {
  readonly effect: "acts" | "reads";
  state:
    | "ready"
    | "waiting_approval"
    | "running"
    | "failed_retryable"
    | "failed_final"
    | "succeeded"
    | "rejected"
    | "cancelled";
  gate: Gate | null; // the last one
}

/** Nobody, anyone, two people, or someone with that role must say yes. */
export type Demand = "nobody" | "anyone" | "two" | "cfo" | "legal";

export const GATE_MS = 10_000;
export const USE_WITHIN_MS = 5_000;

export class GateModel {
  now = 0;
  readonly gates = new Map<string, Gate>();
  readonly steps = new Map<string, Held>();
  readonly #requester: string;
  #cancelled = false;

  constructor(requester: string, steps: Readonly<Record<string, "acts" | "reads">>) {
    this.#requester = requester;
    for (const [id, effect] of Object.entries(steps)) this.steps.set(id, { effect, state: "ready", gate: null });
  }

  /** Runs, or is held at a gate with the id that is given for that case. */
  start(id: string, input: number, demand: Demand, gateId: string): void {
    const step = this.step(id);
    if (step.state !== "ready" && step.state !== "failed_retryable") return;
    const isGood = this.#isGood(step.gate, input, demand);
    if (demand !== "nobody" && !isGood) {
      // Who said yes to this very call is still heard, if it is they who are asked now.
      const votes = this.#isGood(step.gate, input, "nobody") ? (step.gate?.votes ?? []) : [];
      const gate: Gate = {
        id: gateId,
        step: id,
        input,
        demand,
        votes: votes.filter((person) => fits(person, demand)),
        expiresAt: this.now + GATE_MS,
        status: "open",
        useBy: null,
        by: null,
        changes: 1,
      };
      this.gates.set(gateId, gate);
      Object.assign(step, { state: "waiting_approval", gate });
    } else {
      step.state = "running";
      if (isGood && step.gate?.status === "approved") this.#change(step.gate, { status: "consumed" });
    }
  }

  /** Said of this very call, not too long ago, and by those who are asked for now. */
  #isGood(gate: Gate | null, input: number, demand: Demand): boolean {
    if (gate?.status !== "approved" && gate?.status !== "consumed") return false;
    return gate.input === input && this.now <= (gate.useBy ?? 0) && isMet(gate.votes, demand);
  }

  end(id: string, how: "done" | "again" | "failed"): void {
    const step = this.step(id);
    if (step.state !== "running") return;
    if (how === "done") step.state = "succeeded";
    else if (this.#cancelled) step.state = step.effect === "acts" ? "failed_final" : "cancelled";
    else step.state = how === "again" ? "failed_retryable" : "failed_final";
  }

  /** Answers with why it was refused, if it was. */
  decide(gateId: string, person: Person, yes: boolean): string | null {
    const gate = this.gates.get(gateId);
    if (gate === undefined) return "GATE_NOT_FOUND";
    if (gate.status !== "open") return "GATE_DECIDED";
    if (this.now >= gate.expiresAt) {
      this.expire(gateId);
      return "GATE_EXPIRED";
    }
    if (person.kind !== "person" || person.id === this.#requester || !fits(person, gate.demand))
      return "AUTH_FORBIDDEN";
    return yes ? this.#vote(gate, person) : this.#deny(gate, person);
  }

  #vote(gate: Gate, person: Person): string | null {
    if (gate.votes.includes(person)) return "GATE_DECIDED";
    gate.votes.push(person);
    if (!isMet(gate.votes, gate.demand)) this.#change(gate, {});
    else {
      const by = gate.votes.map(({ id }) => id).join(" and ");
      this.#change(gate, { status: "approved", by, useBy: this.now + USE_WITHIN_MS });
      this.step(gate.step).state = "ready";
    }
    return null;
  }

  #deny(gate: Gate, person: Person): null {
    this.#change(gate, { status: "rejected", by: person.id });
    this.step(gate.step).state = "rejected";
    return null;
  }

  expire(gateId: string): void {
    const gate = this.gates.get(gateId);
    if (gate?.status !== "open" || this.now < gate.expiresAt) return;
    this.#change(gate, { status: "expired" });
    this.step(gate.step).state = "rejected";
  }

  /** Its worker died, and the tool was never called. */
  recover(id: string): void {
    const step = this.step(id);
    if (step.state === "running") step.state = this.#cancelled ? "cancelled" : "ready";
  }

  cancel(): void {
    if (this.#cancelled || this.#isOver()) return;
    this.#cancelled = true;
    for (const step of this.steps.values())
      if (["ready", "waiting_approval", "failed_retryable"].includes(step.state)) step.state = "cancelled";
    for (const gate of this.gates.values()) if (gate.status === "open") this.#change(gate, { status: "closed" });
  }

  /** Whoever was rejected is asked about again; whoever failed still stands on its yes. */
  resume(): void {
    if (!this.#isOver() || this.#cancelled) return;
    for (const step of this.steps.values())
      if (step.state === "rejected" || step.state === "failed_final") step.state = "ready";
  }

  #change(gate: Gate, change: Partial<Gate>): void {
    Object.assign(gate, change, { changes: gate.changes + 1 });
  }

  step(id: string): Held {
    return this.steps.get(id) as Held;
  }

  #isOver(): boolean {
    const over = ["succeeded", "failed_final", "rejected", "cancelled"];
    return [...this.steps.values()].every(({ state }) => over.includes(state));
  }
}

function fits({ roles }: Person, demand: Demand): boolean {
  return (demand !== "cfo" && demand !== "legal") || roles.includes(demand);
}

function isMet(votes: readonly Person[], demand: Demand): boolean {
  if (demand === "nobody") return true;
  return votes.filter((person) => fits(person, demand)).length >= (demand === "two" ? 2 : 1);
}
