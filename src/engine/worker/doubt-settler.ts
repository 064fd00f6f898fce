import { findStep, getStep, type Run } from "../../core/run/run.ts";
import { fault } from "../../core/values/fault.ts";
import type { GateId, StepId } from "../../core/values/ids.ts";
import type { CallContext } from "../call/call-context.ts";
import { hostEndCommand } from "../call/host-end.ts";
import { verifyAct } from "../call/verify.ts";

const UNREPORTED = {
  how: "unheard",
  fault: fault("TOOL_TIMEOUT", "its host has not reported its end in time"),
} as const;

/** Settles doubts, expires gates and ends unreported work of a leased run, without a person. */
export class DoubtSettler {
  readonly #context: CallContext;
  readonly #isOverdue: (step: StepId) => boolean;
  readonly #steps = new Set<StepId>();

  constructor(context: CallContext, isOverdue: (step: StepId) => boolean) {
    this.#context = context;
    this.#isOverdue = isOverdue;
  }

  get size(): number {
    return this.#steps.size;
  }

  /** Settles an act in doubt, if its verifier or its idempotency allows it. */
  async settle(step_id: StepId): Promise<void> {
    if (this.#steps.has(step_id) || this.#isOverdue(step_id) || this.#context.isReleased()) return;
    await this.#while(step_id, () => this.#verify(step_id));
  }

  /** Expires a gate that was not decided in time. */
  async expire(step_id: StepId, gate_id: GateId): Promise<void> {
    const { ports, mailbox } = this.#context;
    const now = ports.clock.now();
    const inFlight = this.#inFlight();
    await this.#while(step_id, () => mailbox.ask(() => ({ type: "expire", now, gate_id, in_flight: inFlight() })));
  }

  /** Ends work whose host has not reported its end in time. */
  async endHostWork(step_id: StepId): Promise<void> {
    const { ports, mailbox } = this.#context;
    const end = (run: Run) => hostEndCommand(ports, run, getStep(run, { step_id }), UNREPORTED);
    await this.#while(step_id, () => mailbox.ask(end));
  }

  async #while(step_id: StepId, work: () => Promise<unknown>): Promise<void> {
    this.#steps.add(step_id);
    await this.#context.require(work());
    this.#steps.delete(step_id);
    this.#context.releaseIfAtRest();
  }

  async #verify(step_id: StepId): Promise<void> {
    const { ports, mailbox } = this.#context;
    const step = findStep(mailbox.run, step_id);
    if (step?.standing.state !== "in_doubt") return;
    ports.failpoint("settle.before");
    const seen = step.standing.doubt.exits.verify ? await verifyAct(ports, mailbox.run, step) : null;
    const { sighting, flaw } = seen ?? { sighting: null, flaw: null };
    const now = ports.clock.now();
    const inFlight = this.#inFlight();
    await mailbox.ask(() => ({ type: "settle", now, step_id, sighting, flaw, in_flight: inFlight() }));
    ports.failpoint("settle.after");
  }

  /** Lists, when the command is decided, those of the calls started by now that are still in flight. */
  #inFlight(): () => readonly StepId[] {
    const calls = this.#context.callsStarted();
    return () => this.#context.inFlight(calls);
  }
}
