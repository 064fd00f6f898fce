/**
 * A model of gates (design, section 9): held calls and their decisions. An approval is valid for one call and a limited
 * time. The first start uses it; it covers the later attempts of that call and nothing else.
 */
export interface ModelPerson {
  readonly id: string;
  readonly kind: "agent" | "person" | "service";
  readonly roles: readonly string[];
}

export interface ModelGate {
  readonly id: string;
  readonly step: string;
  readonly input: number;
  readonly demand: ModelDemand;
  readonly votes: ModelPerson[];
  readonly expiresAt: number;
  status: "open" | "approved" | "rejected" | "expired" | "closed" | "consumed";
  useBy: number | null;
  by: string | null;
  changes: number; // each change is one write
}

interface Held {
  readonly effect: "acts" | "reads";
  state:
    | "ready"
    | "waiting_approval"
    | "running"
    | "failed_retryable"
    | "skipped"
    | "succeeded"
    | "rejected"
    | "cancelled";
  gate: ModelGate | null; // the last one
}

/** The approvals that a call needs: none, one of any person, two, or one of a person with that role. */
export type ModelDemand = "none" | "anyone" | "two" | "cfo" | "legal";

export const GATE_MS = 10_000;
export const USE_WITHIN_MS = 5_000;

export class GateModel {
  now = 0;
  readonly gates = new Map<string, ModelGate>();
  readonly steps = new Map<string, Held>();
  readonly #requester: string;
  #cancelled = false;

  constructor(requester: string, steps: Readonly<Record<string, "acts" | "reads">>) {
    this.#requester = requester;
    for (const [id, effect] of Object.entries(steps)) this.steps.set(id, { effect, state: "ready", gate: null });
  }

  /** Starts the call, or holds it at a new gate with this id. */
  start(id: string, input: number, demand: ModelDemand, gateId: string): void {
    const step = this.step(id);
    if (step.state !== "ready" && step.state !== "failed_retryable") return;
    const isGood = this.#isGood(step.gate, input, demand);
    if (demand !== "none" && !isGood) {
      // Earlier votes for exactly this call count, if the voters fit the new demand.
      const votes = this.#isGood(step.gate, input, "none") ? (step.gate?.votes ?? []) : [];
      const gate: ModelGate = {
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

  /** True if the gate has an unexpired approval for exactly this input that meets the demand. */
  #isGood(gate: ModelGate | null, input: number, demand: ModelDemand): boolean {
    if (gate?.status !== "approved" && gate?.status !== "consumed") return false;
    return gate.input === input && this.now <= (gate.useBy ?? 0) && isMet(gate.votes, demand);
  }

  end(id: string, how: "done" | "again" | "failed"): void {
    const step = this.step(id);
    if (step.state !== "running") return;
    if (how === "done") step.state = "succeeded";
    else if (this.#cancelled) step.state = step.effect === "acts" ? "skipped" : "cancelled";
    else step.state = how === "again" ? "failed_retryable" : "skipped";
  }

  /** Returns the fault code of a refusal, or null. */
  decide(gateId: string, person: ModelPerson, yes: boolean): string | null {
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

  #vote(gate: ModelGate, person: ModelPerson): string | null {
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

  #deny(gate: ModelGate, person: ModelPerson): null {
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

  /** Recovers a step whose worker died before it called the tool. */
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

  /** Makes rejected and failed steps ready. A rejected call needs a new approval; a failed call still has its own. */
  resume(): void {
    const isComplete = [...this.steps.values()].every(({ state }) => state === "succeeded" || state === "skipped");
    if (!this.#isOver() || this.#cancelled || isComplete) return;
    for (const step of this.steps.values())
      if (step.state === "rejected" || step.state === "skipped") step.state = "ready";
  }

  #change(gate: ModelGate, change: Partial<ModelGate>): void {
    Object.assign(gate, change, { changes: gate.changes + 1 });
  }

  step(id: string): Held {
    return this.steps.get(id) as Held;
  }

  #isOver(): boolean {
    const over = ["succeeded", "skipped", "rejected", "cancelled"];
    return [...this.steps.values()].every(({ state }) => over.includes(state));
  }
}

function fits({ roles }: ModelPerson, demand: ModelDemand): boolean {
  return (demand !== "cfo" && demand !== "legal") || roles.includes(demand);
}

function isMet(votes: readonly ModelPerson[], demand: ModelDemand): boolean {
  if (demand === "none") return true;
  return votes.filter((person) => fits(person, demand)).length >= (demand === "two" ? 2 : 1);
}
