import type { CommandOf } from "../../core/decide/command.ts";
import { findStep, getStep, type Run, type Step } from "../../core/run/run.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import { fault } from "../../core/values/fault.ts";
import type { GateId, RunId, StepId, WorkerId } from "../../core/values/ids.ts";
import type { CallContext } from "../call/call-context.ts";
import { hostEndCommand } from "../call/host-end.ts";
import { verifyAct } from "../call/verify.ts";
import { callingWorkerOf } from "./find-recovery.ts";
import type { WorkerPorts } from "./worker-ports.ts";

const UNREPORTED = {
  how: "unheard",
  fault: fault("TOOL_TIMEOUT", "its host has not reported its end in time"),
} as const;

/** Settles doubts, expires gates and ends unreported work of a leased run, without a person. */
export class DoubtSettler {
  readonly #context: CallContext;
  readonly #ports: WorkerPorts;
  readonly #isOverdue: (step: StepId) => boolean;
  readonly #steps = new Set<StepId>();

  constructor(context: CallContext, ports: WorkerPorts, isOverdue: (step: StepId) => boolean) {
    this.#context = context;
    this.#ports = ports;
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
    ports.failpoint("settle.before");
    // Find the sender first: while it may still run, the answer of the verifier proves nothing.
    const sender = await this.#findSender(step_id);
    const step = findStep(mailbox.run, step_id);
    if (step?.standing.state !== "in_doubt") return;
    doubtQuietIn(this.#ports, mailbox.run.id, step);
    const seen = step.standing.doubt.exits.verify ? await verifyAct(ports, mailbox.run, step) : null;
    const { sighting, flaw } = seen ?? { sighting: null, flaw: null };
    const now = ports.clock.now();
    const inFlight = this.#inFlight();
    const quiet_in = doubtQuietIn(this.#ports, mailbox.run.id, step);
    const answer = { sighting, flaw, sender, quiet_in } as const;
    await mailbox.ask(() => ({ type: "settle", now, step_id, ...answer, in_flight: inFlight() }));
    ports.failpoint("settle.after");
  }

  /** Returns a worker that may still run the act, or null. Records it if the last such worker is gone. */
  async #findSender(step_id: StepId): Promise<WorkerId | null> {
    const { mailbox } = this.#context;
    const step = findStep(mailbox.run, step_id);
    if (step?.standing.state !== "in_doubt" || !step.standing.doubt.alive) return null;
    const sender = await callingWorkerOf(this.#ports, mailbox.run, step);
    if (sender === null) await mailbox.ask(() => handlerEnded(this.#ports, step));
    return sender;
  }

  /** Lists, when the command is decided, those of the calls started by now that are still in flight. */
  #inFlight(): () => readonly StepId[] {
    const calls = this.#context.callsStarted();
    return () => this.#context.inFlight(calls);
  }
}

/** Returns the command that records that no handler of an act in doubt runs any more. */
export function handlerEnded(
  { clock, toolbox }: WorkerPorts,
  { spec: { step_id, name }, pin }: Step,
): CommandOf<"recover"> {
  const tool = toolbox.mismatch(name, pin) === null ? toolbox.facts(name) : null;
  const found = [{ step_id, mark: "unknown", alive: false, tool }] as const;
  return { type: "recover", now: clock.now(), found, taken: null, rules: null };
}

/** Returns the milliseconds until the call of an act in doubt can no longer arrive. */
function doubtQuietIn({ doubtTimes }: WorkerPorts, run: RunId, { spec, standing, act }: Step): number {
  if (standing.state !== "in_doubt") return 0;
  const { quiet_at } = standing.doubt.exits;
  return doubtTimes.atLeast(`${run} ${spec.step_id} ${act?.version}`, quiet_at, quiet_at - standing.since);
}

/** Returns the milliseconds until an act in doubt is looked at again. */
export function doubtLookIn({ doubtTimes }: WorkerPorts, run: RunId, { spec, standing }: Step): number | null {
  if (standing.state !== "in_doubt" || standing.doubt.next.do !== "look_again") return null;
  const { exits, next } = standing.doubt;
  const most = Math.max(exits.quiet_at - standing.since, waitTimes.senderPollMaxMs);
  return doubtTimes.atMost(`${run} ${spec.step_id}`, next.at, most);
}
