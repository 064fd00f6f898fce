import type { Principal } from "../core/approval/principal.ts";
import type { Verb } from "../core/approval/verb-rules.ts";
import { checkPlan } from "../core/plan/check-plan.ts";
import type { Plan } from "../core/plan/plan.ts";
import { PlanCache } from "../core/plan/plan-cache.ts";
import type { KnownTools } from "../core/plan/plan-context.ts";
import type { InputOf, OutputOf, Tool } from "../core/tool/tool.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { GateId, Instant, RunId, StepId } from "../core/values/ids.ts";
import type { Json, JsonObject } from "../core/values/json.ts";
import { lazyCel } from "../expression/lazy-cel.ts";
import { approveGate, rejectGate } from "./admin/approve-gate.ts";
import { adoptBackup } from "./admin/backup/adopt-backup.ts";
import { makeBackup } from "./admin/backup/make-backup.ts";
import { CheckpointAdmin } from "./admin/checkpoint-admin.ts";
import { forkRun } from "./admin/fork-run.ts";
import { assertRunExists, loadGateView } from "./admin/gate-and-cost-reports.ts";
import { HaltAdmin } from "./admin/halt-admin.ts";
import { NamedSessionAdmin } from "./admin/named-session-admin.ts";
import { planReport } from "./admin/plan-report.ts";
import { PolicyAdmin } from "./admin/policy-admin.ts";
import { ProjectAdmin } from "./admin/project-admin.ts";
import { pinResolution, redactResolution } from "./admin/read-resolution.ts";
import { recordDryRun } from "./admin/record-dry-run.ts";
import { resolveHeldStep } from "./admin/resolve-step.ts";
import { isRunParked, resumeStoredRun } from "./admin/resume-run.ts";
import { DatabaseLogTruncation } from "./admin/retention/database-log-truncation.ts";
import { eraseEndedRuns, forgetRuns } from "./admin/retention/erase-ended-runs.ts";
import { RetentionRunner } from "./admin/retention/retention-runner.ts";
import { RowLists } from "./admin/row-lists.ts";
import { simulatePlan } from "./admin/simulate-plan.ts";
import { SnapshotAdmin } from "./admin/snapshot-admin.ts";
import { ToolAdmin } from "./admin/tool-admin.ts";
import { undoRun } from "./admin/undo-run.ts";
import { VerbJudge } from "./admin/verb-judge.ts";
import { verifyRecordedActs } from "./admin/verify-recorded-acts.ts";
import { watchRunChanges } from "./admin/watch-run-changes.ts";
import type { Checkpoints } from "./api/checkpoint-api.ts";
import type {
  AbortableSubmitOptions,
  ApproveOptions,
  CallResult,
  CheckOptions,
  Engine,
  EngineOptions,
  GateView,
  PlanReport,
  PrincipalOptions,
  ReasonOptions,
  RejectOptions,
  ResolveOptions,
  RunHandle,
  ServeOptions,
  SignalOptions,
  SignalReception,
  SubmitOptions,
} from "./api/engine-api.ts";
import type { OpenRun, OpenRunOptions } from "./api/open-run-api.ts";
import { readPrincipal } from "./api/read-principal.ts";
import { readSubmitOptions } from "./api/read-submit-options.ts";
import { readToolName } from "./api/read-tool-name.ts";
import type { StateView } from "./api/state-api.ts";
import { assertEngineOptions, hasConditions } from "./assert-engine-options.ts";
import { HeldVerbs } from "./held-verbs.ts";
import type { JudgedRequest } from "./journal/judged-request.ts";
import { judgedEngine } from "./judged-engine.ts";
import { makePorts } from "./make-ports.ts";
import { callResult } from "./messages/call-result.ts";
import { assertNotAborted, cancelOnAbort } from "./messages/cancel-on-abort.ts";
import { makeChildRuns } from "./messages/child-runs.ts";
import { readSignal } from "./messages/read-signal.ts";
import { refuseCall, refusePlan } from "./messages/refuse-run.ts";
import { checkWithFallbacks, type ReplacementPlans, readReplanTerms } from "./messages/replacement-plans.ts";
import { retryFailedRun } from "./messages/retry-failed-run.ts";
import { ScheduleRunner } from "./messages/schedule-runner.ts";
import { sendSignal } from "./messages/send-signal.ts";
import { submissionMode } from "./messages/submission-mode.ts";
import { readPlan, submitRun } from "./messages/submit-run.ts";
import { untilAborted } from "./ports/until-aborted.ts";
import { EngineRunHandle } from "./run-handle.ts";
import { endCall } from "./session/end-host-call.ts";
import { openSessionRun } from "./session/open-session-run.ts";
import { parseSnapshotId } from "./state/snapshot-id.ts";
import { viewState } from "./state/view-state.ts";
import { tenantReports } from "./tenant-reports.ts";
import type { VerbEngine } from "./verb-methods.ts";
import { DueRunClaims } from "./worker/due-run-claims.ts";
import { LeasedRuns } from "./worker/leased-runs.ts";
import type { WorkerPorts } from "./worker/worker-ports.ts";

/**
 * Opens an engine on a store. It claims and executes due runs, unless `work` is false. An engine that is given
 * no list of tools executes nothing by default: another process has the tools of its runs.
 */
export async function createEngine(given: EngineOptions): Promise<Engine> {
  const options = { ...given, store: await given.store };
  assertEngineOptions(options);
  if (hasConditions(options)) await lazyCel.load();
  const ports = makePorts(options, () => held);
  const works = options.work ?? options.tools !== undefined;
  if (works) await ports.leases.register();
  if (works) await ports.resources.settleAll();
  const engine = new WritEngine(ports, works, options.strictPlans ?? false);
  const judge = new VerbJudge(ports, () => engine.assertOpen(), options.authenticate);
  const held = new HeldVerbs(ports, engine.leasedRuns, engine, judge);
  await engine.start();
  return judgedEngine(engine, judge, held);
}

class WritEngine implements VerbEngine {
  readonly #ports: WorkerPorts;
  readonly #plans: PlanCache;
  readonly leasedRuns: LeasedRuns;
  readonly #due: DueRunClaims;
  readonly #logTruncation: DatabaseLogTruncation;
  readonly #lists: RowLists;
  readonly #reports: ReturnType<typeof tenantReports>;
  readonly #closed = new AbortController();
  #closing: Promise<void> | null = null;
  readonly schedules: ScheduleRunner;
  readonly policies: PolicyAdmin;
  readonly halts: HaltAdmin;
  readonly checkpoints: Checkpoints;
  readonly projects: ProjectAdmin;
  readonly sessions: NamedSessionAdmin;
  readonly tools: ToolAdmin;

  constructor(ports: WorkerPorts, works: boolean, strict: boolean) {
    this.#ports = ports;
    this.leasedRuns = new LeasedRuns(ports, works);
    this.leasedRuns.useChildRuns(makeChildRuns(ports, this.leasedRuns, strict));
    this.policies = new PolicyAdmin(ports, lazyCel);
    this.halts = new HaltAdmin(ports, this.leasedRuns);
    this.schedules = new ScheduleRunner(ports, this.leasedRuns, strict);
    const checkpoints = new CheckpointAdmin(ports, this.leasedRuns);
    const snapshots = new SnapshotAdmin(ports, (name, input, options) => this.#callBuiltIn(name, input, options));
    this.checkpoints = {
      list: (options) => checkpoints.list(options),
      restore: (at, options) => checkpoints.restore(at, options),
      diff: (from, to, options) => checkpoints.diff(from, to, options),
      take: (options) => snapshots.take(options),
      get: (at, options) => snapshots.get(at, options),
      load: (snapshot, options) => snapshots.load(snapshot, options),
      fork: async (given, options) => {
        const principal = readPrincipal(options.principal);
        const at = typeof given === "string" ? parseSnapshotId(given) : given;
        return this.#handle(principal, await forkRun(ports, this.leasedRuns, at, { ...options, principal }));
      },
    };
    this.sessions = new NamedSessionAdmin(ports);
    this.projects = new ProjectAdmin(ports, {
      state: (options) => this.state(options),
      load: (snapshot, options) =>
        this.#callBuiltIn("projects.revert" satisfies Verb, { snapshot: snapshot as unknown as Json }, options),
    });
    this.#logTruncation = new DatabaseLogTruncation(ports);
    this.#lists = new RowLists(ports, this.leasedRuns);
    this.#reports = tenantReports(ports);
    const retentions = new RetentionRunner(ports, this.#logTruncation);
    this.#due = new DueRunClaims(ports, this.leasedRuns, { schedules: this.schedules, retentions });
    this.tools = new ToolAdmin(ports, this.leasedRuns, () => this.#due.sweep());
    this.#plans = new PlanCache(ports.toolbox.callable, strict);
  }

  assertOpen(): void {
    this.leasedRuns.assertOpen();
  }

  async start(): Promise<void> {
    await this.#due.start();
  }

  async submit(plan: unknown, { signal, replan, fallbacks, ...given }: AbortableSubmitOptions): Promise<RunHandle> {
    const principal = readPrincipal(given.principal);
    const options = readSubmitOptions(given);
    assertNotAborted(signal);
    const terms = readReplanTerms(this.#ports, replan);
    const checked = checkWithFallbacks(this.#plans, plan, fallbacks, {
      context: options.context,
      replan: terms,
      tools: this.#ports.toolbox.callable,
    });
    if (!checked.ok) {
      const refused = await refusePlan(this.#ports, this.leasedRuns, plan, checked, { principal, options });
      throw new FaultError(refused.fault);
    }
    const wanted = { ...options, ...terms, fallbacks: checked.fallbacks };
    if (submissionMode(this.#ports, principal, options) === "dry_run")
      return this.#handle(principal, await recordDryRun(this.#ports, checked.plan, principal, wanted));
    return cancelOnAbort(await this.#submitChecked(checked.plan, principal, wanted), signal);
  }

  async #submitChecked(plan: Plan, principal: Principal, terms: SubmitOptions & ReplacementPlans): Promise<RunHandle> {
    const submitted = await submitRun(this.#ports, this.leasedRuns, plan, principal, terms);
    if (submitted.attached && terms.retryFailed)
      await retryFailedRun(this.#ports, this.leasedRuns, principal, submitted.id);
    return this.#handle(principal, submitted);
  }

  async call<Called extends Tool>(
    tool: Called | string,
    input: InputOf<Called> | Json,
    options: SubmitOptions,
  ): Promise<CallResult<OutputOf<Called>>> {
    return callResult(await this.#callHandle(this.#ports.toolbox.callable, readToolName(tool), input, options));
  }

  /** Calls a tool that no plan can name, so that rules about the verb of its name judge it. */
  async #callBuiltIn(name: string, input: JsonObject, options: SubmitOptions): Promise<CallResult> {
    const { toolbox } = this.#ports;
    const tools = { get: (tool: string) => toolbox.get(tool), all: () => toolbox.callable.all() };
    return callResult(await this.#callHandle(tools, name, input, options));
  }

  /** Submits a call as a run of one step. A refused call is a run, too. */
  async #callHandle(tools: KnownTools, name: unknown, input: unknown, given: SubmitOptions): Promise<RunHandle> {
    const principal = readPrincipal(given.principal);
    const options = readSubmitOptions(given);
    const plan = { steps: [{ step_id: "call", name, payload: input }] };
    const checked = checkPlan(plan, { tools, context: options.context, strict: this.#plans.strict });
    if (checked.ok) return this.#submitChecked(checked.plan, principal, options);
    const refused = await refuseCall(this.#ports, this.leasedRuns, { name, input, tools }, checked, {
      principal,
      options,
    });
    if (refused.run_id === null) throw new FaultError(refused.fault);
    return this.#handle(principal, { id: refused.run_id, attached: false });
  }

  async run(runId: string, options: PrincipalOptions): Promise<RunHandle> {
    const principal = readPrincipal(options.principal);
    await assertRunExists(this.#ports, principal.tenant, runId as RunId);
    return this.#handle(principal, { id: runId as RunId, attached: true });
  }

  async openRun(given: OpenRunOptions): Promise<OpenRun> {
    return openSessionRun(this.#ports, this.leasedRuns, readPrincipal(given.principal), given);
  }

  endCall(token: string, { principal, ...report }: Parameters<Engine["endCall"]>[1]): ReturnType<Engine["endCall"]> {
    return endCall(this.#ports, this.leasedRuns, readPrincipal(principal), token, report);
  }

  check(plan: unknown, { context = {}, ...terms }: CheckOptions = {}): PlanReport {
    return planReport(
      this.#ports,
      plan,
      { tools: this.#ports.toolbox.callable, context, strict: this.#plans.strict },
      terms,
    );
  }

  async simulate(plan: unknown, given: Parameters<Engine["simulate"]>[1]): ReturnType<Engine["simulate"]> {
    const options = readSubmitOptions(given);
    const checked = readPlan(this.#ports, plan, options.context, this.#plans.strict);
    const { project, session } = options;
    const scope = { ...(project !== undefined && { project }), ...(session !== undefined && { session }) };
    return simulatePlan(this.#ports, checked, readPrincipal(given.principal), options, async (tool, input) => {
      const { step } = await this.call(tool, input, { principal: given.principal, ...scope });
      if (step.state === "succeeded") return step.output;
      throw new FaultError(step.fault ?? fault("NOT_POSSIBLE", `${tool} is ${step.state}`));
    });
  }

  state(options: Parameters<Engine["state"]>[0]): Promise<StateView> {
    return viewState(this.#ports, readPrincipal(options.principal), options);
  }

  async signal(key: string, payload: Json, { principal, id }: SignalOptions): Promise<SignalReception> {
    const { tenant, id: by } = readPrincipal(principal);
    const read = readSignal(key, payload, id);
    return sendSignal(this.#ports, this.leasedRuns, tenant, { key, payload: read, by, id: id ?? null });
  }

  approve(gateId: string, options: ApproveOptions): Promise<void> {
    return approveGate(this.#ports, this.leasedRuns, gateId, options);
  }

  reject(gateId: string, options: RejectOptions): Promise<void> {
    return rejectGate(this.#ports, this.leasedRuns, gateId, options);
  }

  resolve(runId: string, stepId: string, options: ResolveOptions & JudgedRequest): Promise<void> {
    return resolveHeldStep(this.#ports, this.leasedRuns, runId, stepId, options);
  }

  pinResolution(runId: string, stepId: string, options: ResolveOptions): Promise<ResolveOptions> {
    const { tenant } = readPrincipal(options.principal);
    return pinResolution(this.#ports, tenant, runId as RunId, stepId as StepId, options);
  }

  redactResolution(runId: string, stepId: string, options: ResolveOptions): Promise<ResolveOptions> {
    const { tenant } = readPrincipal(options.principal);
    return redactResolution(this.#ports, tenant, runId as RunId, stepId as StepId, options);
  }

  resume(runId: string, options: ReasonOptions): Promise<RunHandle> {
    return this.#resume(runId, "resume", options);
  }

  releaseParked(runId: string, options: ReasonOptions & JudgedRequest): Promise<RunHandle> {
    return this.#resume(runId, "resume:parked", options);
  }

  async #resume(runId: string, verb: "resume" | "resume:parked", options: ReasonOptions): Promise<RunHandle> {
    await resumeStoredRun(this.#ports, this.leasedRuns, runId as RunId, verb, options);
    return this.#handle(readPrincipal(options.principal), { id: runId as RunId, attached: true });
  }

  isParked(runId: string, { tenant }: Principal): Promise<boolean> {
    return isRunParked(this.#ports, this.leasedRuns, tenant, runId as RunId);
  }

  undo(runId: string, options: ReasonOptions & JudgedRequest): ReturnType<Engine["undo"]> {
    return undoRun(this.#ports, this.leasedRuns, runId as RunId, options, () => this.run(runId, options));
  }

  verify(runId: string, options: ReasonOptions): ReturnType<Engine["verify"]> {
    return verifyRecordedActs(this.#ports, this.leasedRuns, runId as RunId, options);
  }

  readonly runs: Engine["runs"] = (options) => this.#lists.runs(options);
  readonly gates: Engine["gates"] = (options) => this.#lists.gates(options);
  readonly inDoubt: Engine["inDoubt"] = (options) => this.#lists.inDoubt(options);
  readonly outcomes: Engine["outcomes"] = (options) => this.#lists.outcomes(options);

  changes({ signal, ...options }: Parameters<Engine["changes"]>[0]): ReturnType<Engine["changes"]> {
    const stop = signal === undefined ? this.#closed.signal : AbortSignal.any([signal, this.#closed.signal]);
    return watchRunChanges(this.#ports, this.leasedRuns, (filter) => this.#lists.runs(filter), options, stop);
  }

  gate(gateId: string, { principal }: PrincipalOptions): Promise<GateView> {
    return loadGateView(this.#ports, readPrincipal(principal).tenant, gateId as GateId);
  }

  readonly workers: Engine["workers"] = (options) => this.#reports.workers(options);
  readonly outcome: Engine["outcome"] = (outcomeId, options) => this.#reports.outcome(outcomeId, options);
  readonly act: Engine["act"] = (key, options) => this.#reports.act(key, options);
  readonly cost: Engine["cost"] = (runId, options) => this.#reports.cost(runId, options);
  readonly spent: Engine["spent"] = (options) => this.#reports.spent(options);
  readonly spentByDay: Engine["spentByDay"] = (options) => this.#reports.spentByDay(options);
  readonly budgets: Engine["budgets"] = (options) => this.#reports.budgets(options);
  readonly audit: Engine["audit"] = (options) => this.#reports.audit(options);
  readonly retentions: Engine["retentions"] = (options) => this.#reports.retentions(options);
  readonly backups: Engine["backups"] = (options) => this.#reports.backups(options);

  async retain(options: Parameters<Engine["retain"]>[0] & JudgedRequest): ReturnType<Engine["retain"]> {
    return eraseEndedRuns(this.#ports, this.#logTruncation, options);
  }

  async forget(options: Parameters<Engine["forget"]>[0] & JudgedRequest): ReturnType<Engine["forget"]> {
    return forgetRuns(this.#ports, this.#logTruncation, options);
  }

  backup(file: string, options: ReasonOptions): ReturnType<Engine["backup"]> {
    return makeBackup(this.#ports, file, options);
  }

  adoptBackup(options: Parameters<Engine["adoptBackup"]>[0]): ReturnType<Engine["adoptBackup"]> {
    return adoptBackup(this.#ports, this.schedules, options);
  }

  async serve({ signal }: ServeOptions = {}): Promise<void> {
    this.assertOpen();
    if (!this.leasedRuns.works) throw new FaultError(fault("NOT_POSSIBLE", "an engine with work: false cannot serve"));
    if (signal !== undefined && !(signal instanceof AbortSignal))
      throw new FaultError(fault("INVALID_INPUT", "signal must be an AbortSignal"));
    const stop = signal === undefined ? this.#closed.signal : AbortSignal.any([signal, this.#closed.signal]);
    await this.#ports.keepAlive(untilAborted(stop).then(() => this.close()));
  }

  observers(): ReturnType<Engine["observers"]> {
    return this.#ports.observers.reports;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#closed.abort();
    this.#logTruncation.stop();
    await this.#due.stop();
    // The calls in flight may take long, and the other runs with these rules need not wait for them.
    await Promise.all([this.leasedRuns.drain(), this.#ports.leases.retire()]);
    this.#due.end();
    await this.#ports.store.close();
  }

  #now(): Instant {
    return this.#ports.clock.now();
  }

  #handle(principal: Principal, run: ConstructorParameters<typeof EngineRunHandle>[3]): RunHandle {
    return new EngineRunHandle(this.#ports, this.leasedRuns, principal, run);
  }
}
