import type { GateId, StepId } from "../../core/id.ts";
import { findStep } from "../../core/run.ts";
import type { Hold } from "./hold.ts";
import { look } from "./verify.ts";

/** What becomes of the steps of a held run that wait, without a person: doubts are settled, gates nobody decided expire. */
export class Settling {
  readonly #hold: Hold;
  readonly #isOverdue: (step: StepId) => boolean;
  readonly #steps = new Set<StepId>();

  constructor(hold: Hold, isOverdue: (step: StepId) => boolean) {
    this.#hold = hold;
    this.#isOverdue = isOverdue;
  }

  get size(): number {
    return this.#steps.size;
  }

  /** Settles an act in doubt, as far as that goes. */
  async settle(step_id: StepId): Promise<void> {
    if (this.#steps.has(step_id) || this.#isOverdue(step_id) || this.#hold.isGone()) return;
    await this.#while(step_id, () => this.#look(step_id));
  }

  /** Nobody decided in time. */
  async expire(step_id: StepId, gate_id: GateId): Promise<void> {
    const { ports, mailbox, inFlight } = this.#hold.way;
    const now = ports.clock.now();
    await this.#while(step_id, () => mailbox.ask({ type: "expire", now, gate_id, in_flight: inFlight() }));
  }

  async #while(step_id: StepId, work: () => Promise<unknown>): Promise<void> {
    this.#steps.add(step_id);
    await this.#hold.keep(work());
    this.#steps.delete(step_id);
    this.#hold.restIfDone();
  }

  async #look(step_id: StepId): Promise<void> {
    const { ports, mailbox, inFlight } = this.#hold.way;
    const step = findStep(mailbox.run, step_id);
    if (step?.standing.state !== "in_doubt") return;
    ports.failpoint("settle.before");
    const seen = step.standing.doubt.exits.verify ? await look(ports, mailbox.run, step) : null;
    const { sighting, flaw } = seen ?? { sighting: null, flaw: null };
    const now = ports.clock.now();
    await mailbox.ask({ type: "settle", now, step_id, sighting, flaw, in_flight: inFlight() });
    ports.failpoint("settle.after");
  }
}
