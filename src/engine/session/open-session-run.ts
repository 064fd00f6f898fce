import type { Principal } from "../../core/approval/principal.ts";
import { hasUnfinishedCalls } from "../../core/decide/decide-open-run.ts";
import { contentLength } from "../../core/model/model-content.ts";
import { planLimits } from "../../core/plan/plan.ts";
import { type CallAnswer, callAnswer } from "../../core/run/call-answer.ts";
import { findCallStep, isSameCall, reusedNameFault } from "../../core/run/find-call-step.ts";
import { modelOutputOf, modelRequestOf } from "../../core/run/model-steps.ts";
import type { Run, Step } from "../../core/run/run.ts";
import type { RunResult } from "../../core/run/run-result.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, RunId } from "../../core/values/ids.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import type { AskModel, ModelAnswer, ModelCallOptions } from "../api/model-api.ts";
import type {
  AgentCall,
  BeginCallOptions,
  BegunCall,
  CallsOptions,
  CallToolOptions,
  CallTurnOptions,
  CloseOptions,
  DeliveryOptions,
  OpenRun,
  OpenRunOptions,
  SessionTurn,
} from "../api/open-run-api.ts";
import { judgeRecordedCall } from "../messages/find-run-of-request.ts";
import { jsonBytesAtMost } from "../ports/storable-json.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { CallsOfEarlierRuns } from "./calls-of-earlier-runs.ts";
import { type ReadCall, readCallName, readCalls, readClient } from "./proposed-calls.ts";
import { openSegment, type SessionRun } from "./session-run.ts";
import { type JudgeRecord, readEarlierTurns } from "./session-turns.ts";

/** Opens a session and takes the lease of its run. */
export async function openSessionRun(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  principal: Principal,
  options: OpenRunOptions,
): Promise<OpenRun> {
  const open = () => openSegment(ports, leasedRuns, principal, options);
  return new SegmentedSession(ports, leasedRuns, principal, open, await open());
}

const MINUTE_MS = 60_000;

/**
 * A session as its agent sees it. When its run is full, the next run takes the calls; calls of earlier runs are found by
 * their rows.
 */
class SegmentedSession implements OpenRun {
  readonly attached: boolean;
  readonly #ports: WorkerPorts;
  readonly #leasedRuns: LeasedRuns;
  readonly #principal: Principal;
  readonly #open: () => Promise<SessionRun>;
  readonly #earlier: CallsOfEarlierRuns;
  #current: SessionRun;
  /** The next run is being opened. */
  #turning: Promise<void> | null = null;
  /** The size of the inputs and outputs of the current run. Null: not counted yet. */
  #bytes: number | null = null;
  #minute: { readonly since: Instant; count: number };

  constructor(
    ports: WorkerPorts,
    leasedRuns: LeasedRuns,
    principal: Principal,
    open: () => Promise<SessionRun>,
    current: SessionRun,
  ) {
    this.#ports = ports;
    this.#leasedRuns = leasedRuns;
    this.#principal = principal;
    this.#open = open;
    this.#current = current;
    this.#earlier = new CallsOfEarlierRuns(ports, principal);
    this.attached = current.attached;
    this.#minute = { since: ports.clock.now(), count: 0 };
  }

  get run_id(): RunId {
    return this.#current.run_id;
  }

  async callTool(call: AgentCall, options: CallToolOptions = {}): Promise<CallAnswer> {
    const [answer] = await this.#call([call], options, (segment, [proposed]) =>
      segment.callTool(proposed as AgentCall, options).then((found) => [found]),
    );
    return answer as CallAnswer;
  }

  callTools(calls: readonly AgentCall[], options: CallsOptions = {}): Promise<readonly CallAnswer[]> {
    return this.#call(calls, options, (segment, proposed) => segment.callTools(proposed, options));
  }

  async beginCall(call: AgentCall, options: BeginCallOptions = {}): Promise<BegunCall | CallAnswer> {
    const [answer] = await this.#call([call], options, (segment, [proposed]) =>
      segment.beginCall(proposed as AgentCall, options).then((found) => [found]),
    );
    return answer as BegunCall | CallAnswer;
  }

  /** A turn stays in one run: the run is not full before its turn is finished. */
  async recordModelCall(request: JsonObject, ask: AskModel, options: ModelCallOptions = {}): Promise<ModelAnswer> {
    this.#assertWithinLimits(1);
    const segment = await this.#withRoom(1);
    const answer = await segment.recordModelCall(request, ask, options);
    if (this.#bytes !== null && !answer.replayed) this.#bytes += contentLength(answer.content);
    return answer;
  }

  /** Answers the calls of earlier runs, and proposes the others in a run that has room for them. */
  async #call<Answer>(
    calls: readonly AgentCall[],
    options: CallTurnOptions,
    propose: (segment: SessionRun, calls: readonly AgentCall[]) => Promise<readonly Answer[]>,
  ): Promise<readonly (Answer | CallAnswer)[]> {
    const count = Array.isArray(calls) ? calls.length : 0;
    this.#assertWithinLimits(count);
    const segment = await this.#withRoom(count);
    const { opened } = segment.run;
    if (opened?.previous === undefined) return this.#counted(calls, await propose(segment, calls));
    const read = readCalls(calls, options);
    const found = await Promise.all(read.map((call) => this.#answerOfEarlier(segment.run, call)));
    const fresh = calls.filter((_, index) => found[index] === null);
    const answers = fresh.length === 0 ? [] : this.#counted(fresh, await propose(segment, fresh));
    const rest = answers.values();
    return found.map((answer) => answer ?? (rest.next().value as Answer));
  }

  #assertWithinLimits(count: number): void {
    const { callsPerTurn, proposalsPerMinute } = this.#ports.limits;
    const now = this.#ports.clock.now();
    if (now - this.#minute.since >= MINUTE_MS) this.#minute = { since: now, count: 0 };
    this.#minute.count += count;
    if (count > callsPerTurn)
      throw new FaultError(fault("LIMIT_EXCEEDED", `at most ${callsPerTurn} calls are proposed together`));
    if (this.#minute.count > proposalsPerMinute)
      throw new FaultError(
        fault("LIMIT_EXCEEDED", `a session proposes at most ${proposalsPerMinute} calls in a minute`),
      );
  }

  #counted<Answers extends readonly unknown[]>(calls: readonly AgentCall[], answers: Answers): Answers {
    if (this.#bytes === null) return answers;
    for (const [index, answer] of answers.entries()) this.#bytes += callBytes(calls[index], answer as CallAnswer);
    return answers;
  }

  /** Returns the current run, or the next one if the current one is full and no call of it is unfinished. */
  async #withRoom(count: number): Promise<SessionRun> {
    await this.#turning;
    const isClosed = await this.#current.isContinued();
    const { run } = this.#current;
    if (!isClosed) {
      const { segmentSteps, segmentBytes } = this.#ports.limits;
      this.#bytes ??= runBytes(run);
      const hasRoom = run.steps.length + count <= segmentSteps && this.#bytes <= segmentBytes;
      if (hasRoom || run.steps.length === 0) return this.#current;
      if (hasUnfinishedCalls(run)) return this.#withReserve(count);
    }
    this.#turning ??= this.#next(isClosed).finally(() => {
      this.#turning = null;
    });
    await this.#turning;
    return this.#current;
  }

  /** A run that is full takes further calls while a call of it is unfinished: its close would cancel that call. */
  #withReserve(count: number): SessionRun {
    if (this.#current.run.steps.length + count <= planLimits.steps) return this.#current;
    const message = `run ${this.run_id} has ${planLimits.steps} steps, and some of its calls wait; decide or cancel them first`;
    throw new FaultError(fault("LIMIT_EXCEEDED", message));
  }

  async #next(isClosed: boolean): Promise<void> {
    if (!isClosed && !(await this.#current.endFull())) return; // A call was proposed meanwhile.
    this.#current = await this.#open();
    this.#bytes = null;
  }

  /** Returns the answer of a call that an earlier run of the session has, or null if none has it. */
  async #answerOfEarlier(run: Run, { name, key, tool, input }: ReadCall): Promise<CallAnswer | null> {
    if (findCallStep(run, name) !== undefined) return null;
    const found = await this.#earlier.find(run, key);
    if (found === null) return null;
    if (found === "erased") {
      const message = `call ${name.id} was made in a run that retention has erased; give a new call a new id`;
      return { status: "refused", fault: fault("CALL_REUSED", message) };
    }
    const step = findCallStep(found, name) as Step;
    if (!isSameCall(step, tool, input)) return { status: "refused", fault: reusedNameFault(name, step, tool) };
    return this.#tellEarlier(found, step);
  }

  async #tellEarlier(run: Run, step: Step): Promise<CallAnswer | null> {
    const refused = await judgeRecordedCall(this.#ports, run, step, this.#principal);
    return refused === null ? callAnswer(run, step) : { status: "refused", fault: refused };
  }

  async findCall(id: string, options: CallTurnOptions = {}): Promise<CallAnswer | null> {
    const here = await this.#current.findCall(id, options);
    const found = here === null ? await this.#findEarlier(id, options) : null;
    return found === null ? here : this.#tellEarlier(found.run, found.step);
  }

  /** Returns the call of an earlier run of the session, or null if none has it. */
  async #findEarlier(id: string, options: CallTurnOptions): Promise<{ readonly run: Run; readonly step: Step } | null> {
    if (this.#current.run.opened?.previous === undefined) return null;
    const [call] = readCalls([{ id, tool: "any", input: {} }], options);
    const run = call === undefined ? null : await this.#earlier.find(this.#current.run, call.key);
    if (run === null || run === "erased") return null;
    return { run, step: findCallStep(run, readCallName(id, options)) as Step };
  }

  async markDelivered(id: string, options: DeliveryOptions): Promise<void> {
    const { turn, lane } = options;
    const name = { ...(turn !== undefined && { turn }), ...(lane !== undefined && { lane }) };
    const isHere = (await this.#current.findCall(id, name)) !== null;
    const found = isHere ? null : await this.#findEarlier(id, name);
    if (found === null) return this.#current.markDelivered(id, options);
    const { run, step } = found;
    const to = readClient(options.to);
    const deliver = () =>
      ({ type: "deliver_answer", now: this.#ports.clock.now(), step_id: step.spec.step_id, to }) as const;
    await this.#leasedRuns.command(run.tenant, run.id, deliver);
  }

  /** Lists the turns of all runs of the session that are not erased, oldest first. */
  async turns(): Promise<readonly SessionTurn[]> {
    const judge: JudgeRecord = (run, step) => judgeRecordedCall(this.#ports, run, step, this.#principal);
    const earlier = await readEarlierTurns(this.#ports, this.#principal, this.#current.run, judge);
    return [...earlier, ...(await this.#current.turns())];
  }

  /** Closes the run that takes the calls now. Another process may have closed a full run that this handle still has. */
  async close(options: CloseOptions = {}): Promise<RunResult> {
    for (;;) {
      const result = await this.#current.close(options);
      if (!(await this.#current.wasContinued())) return result;
      await this.#next(true);
    }
  }

  readonly endCall: OpenRun["endCall"] = (token, report) => this.#current.endCall(token, report);
  readonly confirmCall: OpenRun["confirmCall"] = (id, options) => this.#current.confirmCall(id, options);
  readonly release: OpenRun["release"] = () => this.#current.release();
}

/** The input of a refused call may be no JSON, and is not stored then. */
function callBytes(call: AgentCall | undefined, answer: CallAnswer): number {
  if (call === undefined || answer.status === "refused") return 0;
  const output = answer.status === "succeeded" ? jsonBytesAtMost(answer.output) : 0;
  return jsonBytesAtMost(call.input as Json) + output;
}

function runBytes({ steps }: Run): number {
  let bytes = 0;
  for (const step of steps) bytes += jsonBytesAtMost(step.spec.payload) + outputBytes(step);
  return bytes;
}

/** The answer of a model is in the journal if it is long. */
function outputBytes(step: Step): number {
  if (modelRequestOf(step) !== null) return modelOutputOf(step)?.bytes ?? 0;
  return step.standing.state === "succeeded" ? jsonBytesAtMost(step.standing.output) : 0;
}
