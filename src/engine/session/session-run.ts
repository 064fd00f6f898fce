import type { Principal } from "../../core/approval/principal.ts";
import type { AgentCause, CallName } from "../../core/event/session.ts";
import { type CallAnswer, callAnswer } from "../../core/run/call-answer.ts";
import { callKey, findCallStep, isSameCall, reusedNameFault } from "../../core/run/find-call-step.ts";
import type { Run, Step } from "../../core/run/run.ts";
import type { RunResult } from "../../core/run/run-result.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, StepId } from "../../core/values/ids.ts";
import type { JsonObject } from "../../core/values/json.ts";
import type { AskModel, ModelAnswer, ModelCallOptions } from "../api/model-api.ts";
import type {
  AgentCall,
  BeginCallOptions,
  BegunCall,
  CallsOptions,
  CallToolOptions,
  CallTurnOptions,
  CloseOptions,
  ConfirmCallOptions,
  DeliveryOptions,
  HostReport,
  OpenRun,
  OpenRunOptions,
  SessionTurn,
} from "../api/open-run-api.ts";
import { readOpenRunOptions } from "../api/read-open-run-options.ts";
import { readReason } from "../api/read-reason.ts";
import type { CallerFunction } from "../call/caller-function.ts";
import { type HostWork, isWorkOf, newHostWork } from "../call/host-work.ts";
import { loadRun } from "../journal/load-run.ts";
import { sessionFault } from "../journal/named-session-row.ts";
import { judgeRecordedCall } from "../messages/find-run-of-request.ts";
import { captureContext } from "../ports/async-context.ts";
import type { LeasedRun } from "../worker/leased-run.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import { waitForResult } from "../worker/wait-for-result.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { endCall } from "./end-host-call.ts";
import { ModelCalls } from "./model-calls.ts";
import { type OpenedSession, openSession } from "./open-session.ts";
import { proposedCalls, type ReadCall, readCallName, readCalls, readClient, readForMs } from "./proposed-calls.ts";
import { SessionLease } from "./session-lease.ts";
import { readTurns } from "./session-turns.ts";
import { waitForCalls } from "./wait-for-calls.ts";

/** Opens the current run of a session and takes its lease. The process stays alive while it waits for another one. */
export function openSegment(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  principal: Principal,
  given: OpenRunOptions,
): Promise<SessionRun> {
  return ports.keepAlive(openCurrentRun(ports, leasedRuns, principal, given));
}

async function openCurrentRun(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  principal: Principal,
  given: OpenRunOptions,
): Promise<SessionRun> {
  leasedRuns.assertOpen();
  if (!leasedRuns.works)
    throw new FaultError(fault("NOT_POSSIBLE", "an engine with work: false executes no calls, so it opens no session"));
  const { releaseMs, waitMs, ...options } = readOpenRunOptions(given);
  const closed = await sessionFault(ports.store, principal.tenant, options);
  if (closed !== null) throw new FaultError(closed);
  for (;;) {
    const opened = await openSession(ports, leasedRuns, principal, options);
    const lease = new SessionLease(ports, leasedRuns, { tenant: principal.tenant, run: opened.id, releaseMs });
    const run = await takeUnlessClosed(lease, waitMs);
    if (run === null) continue; // The next opening accepts the next run of the session.
    lease.rest();
    return new SessionRun(ports, leasedRuns, principal, lease, { ...opened, run });
  }
}

/** Takes the lease of a run. Null: the run was closed meanwhile, such as by a worker that found its session idle. */
async function takeUnlessClosed(lease: SessionLease, waitMs: number): Promise<Run | null> {
  try {
    return (await lease.take(waitMs)).run;
  } catch (error) {
    if (!(error instanceof FaultError) || error.fault.code !== "RUN_CLOSED") throw error;
    lease.end();
    return null;
  }
}

/** Calls that are proposed together, and how their caller runs them. */
interface ProposedTurn {
  readonly calls: readonly ReadCall[];
  readonly given: CallerFunction;
  readonly handler: AgentCause["handler"];
}

/** One run of a session, for one principal. */
export class SessionRun implements OpenRun {
  readonly run_id: RunId;
  readonly attached: boolean;
  readonly #ports: WorkerPorts;
  readonly #leasedRuns: LeasedRuns;
  readonly #principal: Principal;
  readonly #lease: SessionLease;
  #run: Run;
  readonly #models: ModelCalls;

  constructor(
    ports: WorkerPorts,
    leasedRuns: LeasedRuns,
    principal: Principal,
    lease: SessionLease,
    { id, attached, run }: OpenedSession & { readonly run: Run },
  ) {
    this.#run = run;
    this.#ports = ports;
    this.#leasedRuns = leasedRuns;
    this.#principal = principal;
    this.#lease = lease;
    this.#models = new ModelCalls(ports, principal, lease, leasedRuns.childRuns);
    this.run_id = id;
    this.attached = attached;
  }

  /** The run as this process last knew it. */
  get run(): Run {
    return this.#run;
  }

  /** Takes the lease. Returns whether the next run of the session takes the calls, because this one was full. */
  async isContinued(): Promise<boolean> {
    try {
      this.#run = (await this.#lease.take(0)).run;
      return false;
    } catch (error) {
      if (!(error instanceof FaultError) || error.fault.code !== "RUN_CLOSED") throw error;
      if (await this.wasContinued()) return true;
      throw error;
    }
  }

  /** True if the run was closed because it was full. */
  async wasContinued(): Promise<boolean> {
    this.#run = await this.#now(null);
    return this.#run.closed?.continues === true;
  }

  /** Closes the run, which is full. Returns false if a call of it is unfinished. */
  async endFull(): Promise<boolean> {
    const reason = "the run is full; the next run of the session takes the calls";
    const principal = this.#principal;
    const terms = { type: "close", principal, as: "completed", reason, continues: true } as const;
    const close = () => ({ ...terms, now: this.#ports.clock.now() });
    const { after } = await this.#leasedRuns.command(principal.tenant, this.run_id, close);
    if (!after.open) this.#lease.end();
    return !after.open;
  }

  async callTool(call: AgentCall, options: CallToolOptions = {}): Promise<CallAnswer> {
    const [answer] = await this.#call([call], options);
    return answer as CallAnswer;
  }

  callTools(calls: readonly AgentCall[], options: CallsOptions = {}): Promise<readonly CallAnswer[]> {
    return this.#call(calls, options);
  }

  #call(proposed: readonly AgentCall[], options: CallToolOptions): Promise<readonly CallAnswer[]> {
    const calls = readCalls(proposed, options);
    options.signal?.throwIfAborted();
    const given = { within: captureContext(), run: options.run ?? null, work: null };
    const handler = options.run === undefined ? undefined : "caller";
    const calling = this.#lease.use((leased) => this.#callLeased(leased, { calls, given, handler }, options));
    return this.#ports.keepAlive(calling);
  }

  async beginCall(call: AgentCall, options: BeginCallOptions = {}): Promise<BegunCall | CallAnswer> {
    const calls = readCalls([call], options);
    const work = newHostWork(this.#ports, readForMs(options));
    options.signal?.throwIfAborted();
    const given = { within: captureContext(), run: null, work };
    const proposal = { calls, given, handler: "external" } as const;
    const calling = this.#lease.use((leased) => this.#callLeased(leased, proposal, options));
    try {
      const [answer] = await this.#ports.keepAlive(calling);
      return work.begun === null ? (answer as CallAnswer) : { go: true, ...work.begun };
    } catch (error) {
      if (work.begun === null) throw error;
      return { go: true, ...work.begun }; // The signal came too late: the call is begun, and only the host can end it.
    }
  }

  endCall(token: string, report: HostReport): Promise<CallAnswer> {
    return this.#ports.keepAlive(endCall(this.#ports, this.#leasedRuns, this.#principal, token, report));
  }

  /** Proposes the calls and waits for them. Their steps start with the context and function of the caller at hand. */
  async #callLeased(
    leased: LeasedRun,
    proposed: ProposedTurn,
    options: CallToolOptions,
  ): Promise<readonly CallAnswer[]> {
    const { given } = proposed;
    const calls = proposed.calls.map((call) => this.#named(leased.run, call, options));
    const proposal = { ...proposed, calls };
    for (const { key } of calls) leased.calls.give(key, given);
    const kept = options.keepHandler === true ? given : { ...given, run: null, work: null };
    try {
      const fresh = await this.#propose(leased, proposal);
      const answers = await this.#answers(leased, calls, given.work, options);
      return await Promise.all(calls.map((call, index) => this.#tell(leased.run, call, answers[index], fresh)));
    } finally {
      for (const { key, name } of calls) {
        const step = findCallStep(leased.run, name);
        const isOver = step === undefined || step.standing.state === "succeeded";
        leased.calls.withdraw(key, given, isOver ? null : kept);
      }
    }
  }

  /** The turn of a call is the recorded answer that contains it; without one, it is what the caller says. */
  #named(run: Run, call: ReadCall, { lane }: CallTurnOptions): ReadCall {
    const name = this.#models.named(run, call.name, lane);
    return name === call.name ? call : { ...call, name, key: callKey(name) };
  }

  /** Returns the ids of the steps that this proposal added. */
  async #propose(leased: LeasedRun, { calls, given, handler }: ProposedTurn): Promise<ReadonlySet<StepId>> {
    const { mailbox } = leased;
    const { clock } = this.#ports;
    const decision = await mailbox.ask((run) => ({
      type: "propose",
      now: clock.now(),
      calls: proposedCalls(this.#ports, run, this.#principal, calls, handler),
    }));
    if (decision.refusal !== null) throw new FaultError(decision.refusal);
    // A decision without an append does not detect a lost lease.
    if (decision.events.length === 0) await this.#lease.confirm(leased);
    if (given.run !== null || given.work !== null) await this.#wakeAway(leased, calls);
    return new Set(decision.events.flatMap((event) => (event.type === "step.proposed" ? [event.step_id] : [])));
  }

  /** Continues the calls that waited for their caller. */
  async #wakeAway({ mailbox }: LeasedRun, calls: readonly ReadCall[]): Promise<void> {
    for (const { name } of calls) {
      const step = findCallStep(mailbox.run, name);
      if (step?.standing.state !== "waiting" || step.standing.on.for !== "tool") continue;
      const { step_id } = step.spec;
      await mailbox.ask(() => ({ type: "wake", now: this.#ports.clock.now(), step_id }));
    }
  }

  /** Waits until every call rests and, if the caller wants that, until people have decided. */
  async #answers(
    leased: LeasedRun,
    calls: readonly ReadCall[],
    work: HostWork | null,
    options: CallsOptions,
  ): Promise<readonly (CallAnswer | null)[]> {
    const ids = calls.flatMap(({ name }) => findCallStep(leased.run, name)?.spec.step_id ?? []);
    const isBeginning = work === null ? null : () => isAboutToBegin(leased.run, calls, work);
    await waitForCalls(this.#ports, leased, ids, { ...options, isBeginning });
    return calls.map((call) => this.#answerOf(leased.run, call));
  }

  /** Returns the answer of a call, or null while it moves. Another call under the same name is a mistake of the agent. */
  #answerOf(run: Run, { name, tool, input }: ReadCall): CallAnswer | null {
    const step = findCallStep(run, name) as Step;
    if (isSameCall(step, tool, input)) return callAnswer(run, step);
    return { status: "refused", fault: reusedNameFault(name, step, tool) };
  }

  /** A principal receives a recorded answer only if it may make the call now. */
  async #tell(
    run: Run,
    { name }: Pick<ReadCall, "name">,
    answer: CallAnswer | null | undefined,
    fresh: ReadonlySet<StepId>,
  ): Promise<CallAnswer> {
    const step = findCallStep(run, name) as Step;
    if (fresh.has(step.spec.step_id)) return answer as CallAnswer;
    const refused = await judgeRecordedCall(this.#ports, run, step, this.#principal);
    return refused === null ? (answer as CallAnswer) : { status: "refused", fault: refused };
  }

  async findCall(id: string, options: CallTurnOptions = {}): Promise<CallAnswer | null> {
    const name = readCallName(id, options);
    return this.#ports.keepAlive(this.#find(name, options));
  }

  /** Waits until the call rests, on any worker. */
  async #find(given: CallName, { lane }: CallTurnOptions): Promise<CallAnswer | null> {
    for (;;) {
      const changed = this.#leasedRuns.nextChange();
      const name = this.#models.named(await this.#now(null), given, lane);
      const run = await this.#now(name);
      const step = findCallStep(run, name);
      if (step === undefined) return null;
      const answer = callAnswer(run, step);
      if (answer !== null) return this.#tell(run, { name }, answer, new Set());
      await changed;
    }
  }

  /** Returns the run as it is now. If this process holds it, waits until the call of this name rests. */
  async #now(name: CallName | null): Promise<Run> {
    this.#leasedRuns.assertOpen();
    const { tenant } = this.#principal;
    const held = this.#leasedRuns.get(tenant, this.run_id);
    if (held === undefined) return (await loadRun(this.#ports.store, tenant, this.run_id)).run;
    await held.begin();
    const step = name === null ? undefined : findCallStep(held.run, name);
    if (step !== undefined) await held.calls.rest(held.run, [step.spec.step_id]);
    return held.run;
  }

  async markDelivered(id: string, options: DeliveryOptions): Promise<void> {
    const name = readCallName(id, options);
    const to = readClient(options.to);
    const deliver = (leased: LeasedRun) => {
      return this.#deliver(leased, this.#models.named(leased.run, name, options.lane), to);
    };
    await this.#ports.keepAlive(this.#lease.use(deliver));
  }

  async #deliver({ mailbox }: LeasedRun, name: CallName, to: string): Promise<void> {
    const step = findCallStep(mailbox.run, name);
    if (step === undefined) throw new FaultError(fault("STEP_NOT_FOUND", `the session has no call ${name.id}`));
    const { step_id } = step.spec;
    await mailbox.ask(() => ({ type: "deliver_answer", now: this.#ports.clock.now(), step_id, to }));
  }

  async confirmCall(id: string, options: ConfirmCallOptions = {}): Promise<void> {
    const name = this.#models.named(await this.#now(null), readCallName(id, options), options.lane);
    const reason = readReason(options);
    const step = findCallStep(await this.#now(name), name);
    if (step?.standing.state !== "waiting_approval")
      throw new FaultError(fault("NOT_POSSIBLE", `call ${name.id} is not held, so it cannot be confirmed`));
    const { gate_id } = step.standing;
    const use_within_ms = this.#ports.limits.useWithinMs;
    const principal = this.#principal;
    await this.#leasedRuns.command(principal.tenant, this.run_id, (in_flight) => {
      const now = this.#ports.clock.now();
      return { type: "approve", now, gate_id, principal, reason, confirms: true, use_within_ms, in_flight };
    });
  }

  async turns(): Promise<readonly SessionTurn[]> {
    return readTurns(this.#ports, this.#principal, await this.#now(null));
  }

  async close(options: CloseOptions = {}): Promise<RunResult> {
    const { as = "completed" } = options;
    if (!["completed", "failed", "abandoned"].includes(as))
      throw new FaultError(fault("INVALID_INPUT", "as must be completed, failed or abandoned"));
    const reason = readReason(options);
    const principal = this.#principal;
    const close = () => ({ type: "close", now: this.#ports.clock.now(), principal, as, reason }) as const;
    await this.#leasedRuns.command(principal.tenant, this.run_id, close);
    const ended = waitForResult(this.#ports, this.#leasedRuns, principal.tenant, this.run_id);
    const result = await this.#ports.keepAlive(ended);
    this.#lease.end();
    return result;
  }

  recordModelCall(request: JsonObject, ask: AskModel, options: ModelCallOptions = {}): Promise<ModelAnswer> {
    return this.#models.record(request, ask, options);
  }

  async release(): Promise<void> {
    return this.#ports.keepAlive(this.#release());
  }

  /** The caller leaves its turns: what is on record is not replayed to the next one. */
  async #release(): Promise<void> {
    const held = this.#leasedRuns.get(this.#principal.tenant, this.run_id);
    if (held !== undefined) await this.#models.endTurns(held);
    await this.#lease.release();
  }
}

/** True if the start of the work is recorded and the host has not received the order to begin. */
function isAboutToBegin(run: Run, calls: readonly ReadCall[], work: HostWork): boolean {
  return work.begun === null && calls.some(({ name }) => isWorkOf(findCallStep(run, name), work));
}
