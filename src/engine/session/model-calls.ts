import type { Principal } from "../../core/approval/principal.ts";
import type { CallName } from "../../core/event/session.ts";
import { contentOf, type ModelContent, type ModelOutput } from "../../core/model/model-content.ts";
import { callAnswer } from "../../core/run/call-answer.ts";
import {
  answerTurn,
  findEqualRequest,
  laneOf,
  modelCallKey,
  modelOutputOf,
  modelRequestOf,
} from "../../core/run/model-steps.ts";
import { findStep, getStep, type Run, type Step } from "../../core/run/run.ts";
import { assert } from "../../core/values/assert.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest, StepId } from "../../core/values/ids.ts";
import type { AskModel, ModelAnswer, ModelCallOptions } from "../api/model-api.ts";
import type { CallerFunction } from "../call/caller-function.ts";
import type { ChildRunPort } from "../call/child-run-port.ts";
import { loadEventAt } from "../journal/load-run.ts";
import { judgeRecordedCall } from "../messages/find-run-of-request.ts";
import { captureContext } from "../ports/async-context.ts";
import type { LeasedRun } from "../worker/leased-run.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { type ParsedModelCall, parseModelCall, proposedModelCall } from "./parse-model-call.ts";
import { type ReceivedAnswer, receiveAnswer, replayAnswer } from "./receive-answer.ts";
import type { SessionLease } from "./session-lease.ts";
import { waitForCalls } from "./wait-for-calls.ts";

/** A model call that callers of this process wait for. */
interface CallInFlight {
  step_id: StepId | null;
  readonly answer: Promise<RecordedAnswer>;
}

/** The answer of a step. `isFresh`: the model was asked for it now. */
interface RecordedAnswer {
  readonly step_id: StepId;
  readonly content: ModelContent;
  readonly output: ModelOutput;
  readonly isFresh: boolean;
}

/** The equal requests that this start of a loop has made in the unfinished turn of a lane. */
interface LaneRequests {
  readonly turn: number;
  readonly counts: Map<Digest, number>;
  /** By the id of a tool call, the model call whose answer was handed over with it. */
  readonly calls: Map<string, StepId>;
}

/** The model calls in flight, by leased run. All handles of a process share them. */
const inFlight = new WeakMap<LeasedRun, Map<string, CallInFlight>>();

function callsInFlight(leased: LeasedRun): Map<string, CallInFlight> {
  const calls = inFlight.get(leased) ?? new Map<string, CallInFlight>();
  inFlight.set(leased, calls);
  return calls;
}

/** The model calls of one handle of an open run. */
export class ModelCalls {
  readonly #ports: WorkerPorts;
  readonly #principal: Principal;
  readonly #lease: SessionLease;
  readonly #childRuns: Pick<ChildRunPort, "tellLeftActs">;
  readonly #lanes = new Map<string, LaneRequests>();

  constructor(
    ports: WorkerPorts,
    principal: Principal,
    lease: SessionLease,
    childRuns: Pick<ChildRunPort, "tellLeftActs">,
  ) {
    this.#ports = ports;
    this.#principal = principal;
    this.#lease = lease;
    this.#childRuns = childRuns;
  }

  /** Hands over the recorded answer of a request, or asks the model and records its answer. */
  async record(request: unknown, ask: AskModel, options: ModelCallOptions): Promise<ModelAnswer> {
    if (typeof ask !== "function")
      throw new FaultError(fault("INVALID_INPUT", "ask must be a function that asks the model"));
    const read = parseModelCall(request, options);
    options.signal?.throwIfAborted();
    const within = captureContext();
    return this.#ports.keepAlive(this.#lease.use((leased) => this.#record(leased, read, { ask, options, within })));
  }

  async #record(leased: LeasedRun, read: ParsedModelCall, given: GivenAsk): Promise<ModelAnswer> {
    await this.#finishTurns(leased);
    const calls = callsInFlight(leased);
    const key = modelCallKey(read);
    const joined = calls.get(key);
    if (joined !== undefined) return this.#handOver(leased, read, { ...(await joined.answer), isFresh: false }, given);
    const call: CallInFlight = { step_id: null, answer: this.#ask(leased, read, given, () => call) };
    calls.set(key, call);
    call.answer.catch(() => {}); // Its callers get the error.
    try {
      return await this.#handOver(leased, read, await call.answer, given);
    } finally {
      if (calls.get(key) === call) calls.delete(key);
    }
  }

  /** Proposes the request, or finds it, and waits for its answer. */
  async #ask(
    leased: LeasedRun,
    read: ParsedModelCall,
    given: GivenAsk,
    own: () => CallInFlight,
  ): Promise<RecordedAnswer> {
    await null; // The call in flight is known before it is decided.
    const attempt = new AskAttempt(given);
    const key = modelCallKey(read);
    leased.calls.give(key, attempt.handler);
    try {
      const step_id = await this.#propose(leased, read, own());
      await waitForCalls(this.#ports, leased, [step_id], given.options);
      if (isUntold(leased.run)) await this.#childRuns.tellLeftActs(leased.run);
      const answer = await this.#answerOf(leased, getStep(leased.run, { step_id }), attempt);
      const { counts } = this.#requestsOf(leased.run, read.lane);
      counts.set(read.digest, 1 + (counts.get(read.digest) ?? 0)); // A request that failed is asked again as the same.
      return answer;
    } finally {
      leased.calls.withdraw(key, attempt.handler, null);
    }
  }

  async #propose(leased: LeasedRun, read: ParsedModelCall, own: CallInFlight): Promise<StepId> {
    const { mailbox } = leased;
    const others = callsInFlight(leased);
    const decision = await mailbox.ask((run) => {
      const nth = 1 + (this.#requestsOf(run, read.lane).counts.get(read.digest) ?? 0);
      const { call, messages } = proposedModelCall(run, this.#principal, read);
      own.step_id = findEqualRequest(run, read.lane, read.digest, nth)?.spec.step_id ?? call.step.step_id;
      const in_flight = Array.from(others.values()).flatMap((other) =>
        other === own || other.step_id === null ? [] : [other.step_id],
      );
      return { type: "ask_model", now: this.#ports.clock.now(), call, messages, nth, in_flight };
    });
    if (decision.refusal !== null) throw new FaultError(decision.refusal);
    if (decision.events.length === 0) await this.#lease.confirm(leased);
    assert(own.step_id !== null, "a decided request has a step");
    return own.step_id;
  }

  /** Returns the requests of this start in the unfinished turn. A finished turn and a branch begin a new list. */
  #requestsOf(run: Run, lane: string): LaneRequests {
    const { turn } = laneOf(run, lane);
    const known = this.#lanes.get(lane);
    if (known?.turn === turn) return known;
    const requests = { turn, counts: new Map<Digest, number>(), calls: new Map<string, StepId>() };
    this.#lanes.set(lane, requests);
    return requests;
  }

  /** Returns the answer of a step at rest. Throws what the function of the caller threw, or why there is no answer. */
  async #answerOf(leased: LeasedRun, step: Step, attempt: AskAttempt): Promise<RecordedAnswer> {
    const { step_id } = step.spec;
    const output = modelOutputOf(step);
    if (output === null) throw attempt.error ?? new FaultError(unansweredFault(leased.run, step));
    if (attempt.received !== null) return { step_id, output, content: attempt.received.content, isFresh: true };
    const refused = await judgeRecordedCall(this.#ports, leased.run, step, this.#principal);
    if (refused !== null) throw new FaultError(refused);
    return { step_id, output, content: await this.#recordedContent(leased.run, step, output), isFresh: false };
  }

  async #recordedContent({ tenant, id }: Run, step: Step, output: ModelOutput): Promise<ModelContent> {
    const content = contentOf(output);
    if (content !== null) return content;
    const event = await loadEventAt(this.#ports.store, tenant, id, step.checkpoint?.position ?? 0);
    const whole = event?.type === "step.succeeded" ? contentOf(event.output as unknown as ModelOutput) : null;
    if (whole !== null) return whole;
    throw new FaultError(fault("RUN_NOT_FOUND", `the answer of ${step.spec.step_id} is not recorded`));
  }

  async #handOver(
    leased: LeasedRun,
    { lane }: ParsedModelCall,
    { step_id, content, output, isFresh }: RecordedAnswer,
    { options }: GivenAsk,
  ): Promise<ModelAnswer> {
    if (!isFresh) await replayAnswer(content, options.onChunk);
    const { calls, final } = output;
    const handed = this.#requestsOf(leased.run, lane).calls;
    for (const { id } of calls) handed.set(id, step_id);
    if (final) {
      leased.calls.handOver(lane, step_id);
      this.#ports.loopTimers.after(0, () => void this.#finishTurns(leased));
    }
    return { step_id, content, calls, final, replayed: !isFresh };
  }

  /** Records that the final answers that were handed over have finished their turns. */
  async #finishTurns(leased: LeasedRun): Promise<void> {
    const answers = leased.isReleased ? [] : leased.calls.takeHandedOver();
    if (answers.length === 0) return;
    const command = { type: "finish_turns", now: this.#ports.clock.now(), answers } as const;
    await leased.mailbox.ask(() => command).catch(() => {}); // Without it, the answers are handed over again.
  }

  /** Ends all turns: what is on record is not replayed any more. */
  async endTurns(leased: LeasedRun): Promise<void> {
    await leased.mailbox.ask(() => ({ type: "finish_turns", now: this.#ports.clock.now(), answers: "all" }));
  }

  /** Returns the name of a call with the turn of the recorded answer that contains it, if one does. */
  named(run: Run, name: CallName, lane: string | undefined): CallName {
    const step_id = this.#handedWith(run, name.id, lane) ?? recordedWith(run, name.id, lane);
    return step_id === undefined ? name : { id: name.id, turn: answerTurn(step_id) };
  }

  #handedWith(run: Run, id: string, lane: string | undefined): StepId | undefined {
    const lanes = lane === undefined ? Array.from(this.#lanes.keys()) : [lane];
    for (const each of lanes) {
      const step_id = this.#requestsOf(run, each).calls.get(id);
      if (step_id !== undefined) return step_id;
    }
    return undefined;
  }
}

/** The function and the options of a caller. */
interface GivenAsk {
  readonly ask: AskModel;
  readonly options: ModelCallOptions;
  readonly within: CallerFunction["within"];
}

/** Asks the model for one step, and keeps what came, which is more than the record may hold. */
class AskAttempt {
  received: ReceivedAnswer | null = null;
  error: unknown = null;
  readonly handler: CallerFunction;

  constructor({ ask, options, within }: GivenAsk) {
    this.handler = {
      within,
      work: null,
      run: async (_input, context) => {
        try {
          this.received = await receiveAnswer(ask, context, options);
          return this.received.output;
        } catch (error) {
          this.error = error;
          throw error;
        }
      },
    };
  }
}

/** True if a branch has left acts that sub-agents of other lanes may not know yet: no answer is handed over before. */
function isUntold({ notices }: Run): boolean {
  return notices.size > 0 && Array.from(notices).some(([, { kin }]) => kin === "left_acts");
}

/** Returns the model call whose recorded answer contains a tool call with this id. */
function recordedWith(run: Run, id: string, lane: string | undefined): StepId | undefined {
  const index = run.conversation?.answered.get(id);
  const step = index === undefined ? undefined : run.steps.get(index);
  if (step === undefined || (lane !== undefined && modelRequestOf(step)?.lane !== lane)) return undefined;
  return step.spec.step_id;
}

function unansweredFault(run: Run, { spec }: Step) {
  const answer = callAnswer(run, findStep(run, spec.step_id) as Step);
  switch (answer?.status) {
    case "held": {
      const { gate_id, reason } = answer.gate;
      return fault("CALL_HELD", `the request to the model waits for a person (gate ${gate_id}, ${reason})`, {
        gate_id,
      });
    }
    case "refused":
    case "failed":
      return answer.fault;
    case "waiting":
      return fault("TOOL_AWAY", `the request to the model waits (${answer.blocked.reason_code}); ask again later`);
    default:
      return fault("CANCELLED", `the request to the model was cancelled (${spec.step_id})`);
  }
}
