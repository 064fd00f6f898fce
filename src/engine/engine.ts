import { assert } from "../core/assert.ts";
import type { Resolution } from "../core/command.ts";
import { FaultError, fault } from "../core/fault.ts";
import type { GateId, Instant, RunId, StepId, Tenant, WorkerId } from "../core/id.ts";
import { checkJson, valueLimits } from "../core/json/check-json.ts";
import type { Json, JsonObject } from "../core/json/json.ts";
import { noticeNeed } from "../core/need.ts";
import { checkPlan } from "../core/plan/check-plan.ts";
import { signalKey } from "../core/plan/plan.ts";
import type { Principal } from "../core/principal.ts";
import type { GateRow, RunRow } from "../core/rows.ts";
import { findStep, type Step } from "../core/run.ts";
import { SliceFolds } from "../core/state/slice-fold.ts";
import { cel } from "../expression/cel.ts";
import { standingGuards } from "../policy/guards.ts";
import type {
  ApproveOptions,
  As,
  AuditReport,
  CallResult,
  Checkpoints,
  Engine,
  EngineOptions,
  GateView,
  Page,
  PlanReport,
  Reasoned,
  Reception,
  RejectOptions,
  ResolveOptions,
  RunHandle,
  SignalOptions,
  SubmitOptions,
} from "./api.ts";
import { standingOf } from "./desk/capture-standing.ts";
import { StateCheckpoints } from "./desk/checkpoints.ts";
import { ProjectOffice } from "./desk/project-office.ts";
import { Projects } from "./desk/projects.ts";
import { Resources } from "./desk/resources.ts";
import type { StateView } from "./desk/state-api.ts";
import { stateLoad, toolsOfState } from "./desk/state-tools.ts";
import { stateOf } from "./desk/state-view.ts";
import { assertOptions } from "./engine-options.ts";
import { assertRun, Handle } from "./handle.ts";
import { costOf, gateRow, gateViews, spentOver, workersOf } from "./office.ts";
import { pageOf } from "./page.ts";
import { defaultLimits, type Ports } from "./ports.ts";
import { familyOf } from "./post/family.ts";
import { StandingOrders } from "./post/schedules.ts";
import { send } from "./post/signals.ts";
import { assertName, isName, principalOf } from "./principal.ts";
import { reasonOf } from "./reason.ts";
import { auditRun, auditTenant } from "./record/audit.ts";
import { load } from "./record/load.ts";
import { retain } from "./record/retain.ts";
import { approve, reject } from "./road/decide-gate.ts";
import { fork } from "./road/fork.ts";
import { redacted, storable } from "./road/keep.ts";
import { simulate } from "./road/simulate.ts";
import { readPlan, submit } from "./road/submit.ts";
import { readOptions } from "./road/submit-options.ts";
import { Toolbox } from "./road/toolbox.ts";
import { undoRun } from "./road/undo.ts";
import { StoredHalts } from "./rules/halt-board.ts";
import { HaltOffice } from "./rules/halt-office.ts";
import { Policies, readPolicies } from "./rules/policies.ts";
import { PolicyOffice } from "./rules/policy-office.ts";
import { budgetsOf } from "./rules/purse.ts";
import { trustRecord } from "./rules/trust.ts";
import { systemDice, systemIds, systemStopwatch, systemTimers } from "./system.ts";
import { DueRuns } from "./watch/due.ts";
import { Holds } from "./watch/holds.ts";
import { Leases } from "./watch/leases.ts";
import { Tenants } from "./watch/tenants.ts";

/** Opens an engine on a store. It takes up the runs that are due, unless it is told not to work. */
export async function createEngine(given: EngineOptions): Promise<Engine> {
  const options = { ...given, store: await given.store };
  assertOptions(options);
  const ports = portsOf(options);
  const works = options.work ?? true;
  if (works) await ports.store.lockWorker();
  if (works) await ports.resources.settle();
  const engine = new WritEngine(ports, works, options.strictPlans ?? false);
  await engine.start();
  return engine;
}

function portsOf(options: EngineOptions & Pick<Ports, "store">): Ports {
  const { store, timers = systemTimers, dice = systemDice, newId = systemIds, clock = store.clock } = options;
  const worker = newId("wrk", clock.now()) as WorkerId;
  const toolbox = new Toolbox([...options.tools, ...toolsOfState(options.slices ?? [])], cel);
  const onNotice = options.onNotice ?? null;
  const limits = { ...defaultLimits, ...options.limits };
  const terms = { ...options.worker, offers: [...(onNotice === null ? [] : [noticeNeed]), ...toolbox.needs()] };
  return {
    store,
    clock,
    timers,
    dice,
    seed: options.seed ?? "",
    newId,
    worker,
    leases: new Leases(store, worker, options.stopwatch ?? systemStopwatch, terms),
    toolbox,
    tenants: new Tenants(options.tenants ?? {}, options),
    slices: options.slices ?? [],
    projects: new Projects(store, {
      folds: new SliceFolds(options.slices ?? []),
      every: limits.snapshotVersions,
      recent: limits.checkpoints,
    }),
    resources: new Resources(options.resources ?? {}, (capture) => standingOf(store, capture)),
    guards: [...standingGuards, ...(options.guards ?? [])],
    policies: new Policies(readPolicies(options.policies ?? [], cel), { store, clock }, cel),
    halts: new StoredHalts({ store, clock }),
    alerted: new Set(),
    durability: options.durability ?? "power",
    limits,
    failpoint: options.failpoint ?? (() => {}),
    onNotice,
  };
}

class WritEngine implements Engine {
  readonly #ports: Ports;
  readonly #holds: Holds;
  readonly #due: DueRuns;
  readonly #strict: boolean;
  readonly schedules: StandingOrders;
  readonly policies: PolicyOffice;
  readonly halts: HaltOffice;
  readonly checkpoints: Checkpoints;
  readonly projects: ProjectOffice;

  constructor(ports: Ports, works: boolean, strict: boolean) {
    this.#ports = ports;
    this.#holds = new Holds(ports, works);
    this.#holds.join(familyOf(ports, this.#holds, strict));
    this.policies = new PolicyOffice(ports, cel);
    this.halts = new HaltOffice(ports, this.#holds);
    this.schedules = new StandingOrders(ports, this.#holds, strict);
    const kept = new StateCheckpoints(ports, this.#holds);
    this.checkpoints = {
      list: (options) => kept.list(options),
      restore: (at, options) => kept.restore(at, options),
      diff: (from, to, options) => kept.diff(from, to, options),
      load: (snapshot, options) => this.call(stateLoad, { snapshot: snapshot as unknown as Json }, options),
      fork: async (at, options) => {
        const principal = principalOf(options.principal);
        return this.#handle(principal, await fork(ports, this.#holds, at, { ...options, principal }));
      },
    };
    this.projects = new ProjectOffice(ports, {
      state: (options) => this.state(options),
      load: (snapshot, options) => this.checkpoints.load(snapshot, options),
    });
    this.#due = new DueRuns(ports, this.#holds, this.schedules);
    this.#strict = strict;
  }

  async start(): Promise<void> {
    await this.#due.start();
  }

  async submit(plan: unknown, given: SubmitOptions): Promise<RunHandle> {
    const principal = principalOf(given.principal);
    const options = readOptions(given);
    const checked = readPlan(this.#ports, plan, options.context, this.#strict);
    return this.#handle(principal, await submit(this.#ports, this.#holds, checked, principal, options));
  }

  async call(tool: string, input: Json, options: SubmitOptions): Promise<CallResult> {
    const handle = await this.submit({ steps: [{ step_id: "call", name: tool, payload: input }] }, options);
    const result = await handle.result();
    const step = result.steps.call;
    if (step === undefined) throw new FaultError(fault("STEP_NOT_FOUND", `run ${handle.run_id} has no call`));
    // It was no failure of the call: whoever made it shows more and makes it again.
    if ("fault" in step && step.fault.code === "VISIBILITY_WANTED") throw new FaultError(step.fault);
    return { run_id: handle.run_id, step, result };
  }

  async run(runId: string, options: As): Promise<RunHandle> {
    const principal = principalOf(options.principal);
    await assertRun(this.#ports, principal, runId as RunId);
    return this.#handle(principal, { id: runId as RunId, attached: true });
  }

  check(plan: unknown, { context = {} }: { readonly context?: JsonObject } = {}): PlanReport {
    const checked = checkPlan(plan, { tools: this.#ports.toolbox, context, strict: this.#strict });
    return checked.ok
      ? { ok: true, reasons: [], warnings: checked.warnings }
      : { ok: false, reasons: checked.reasons, warnings: [] };
  }

  async simulate(plan: unknown, given: Parameters<Engine["simulate"]>[1]): ReturnType<Engine["simulate"]> {
    const principal = principalOf(given.principal);
    const options = readOptions(given);
    const checked = readPlan(this.#ports, plan, options.context, this.#strict);
    const { project, session } = options;
    const scope = { ...(project !== undefined && { project }), ...(session !== undefined && { session }) };
    return simulate(this.#ports, checked, principal, options, async (tool, input) => {
      const { step } = await this.call(tool, input, { principal: given.principal, ...scope });
      if (step.state === "succeeded") return step.output;
      throw new FaultError("fault" in step ? step.fault : fault("NOT_POSSIBLE", `${tool} is ${step.state}`));
    });
  }

  state(options: Parameters<Engine["state"]>[0]): Promise<StateView> {
    return stateOf(this.#ports, principalOf(options.principal), options);
  }

  async signal(key: string, payload: Json, { principal, id }: SignalOptions): Promise<Reception> {
    const { tenant, id: by } = principalOf(principal);
    const wrong = [
      ...(isName(key) && signalKey.test(key) ? [] : ["its key"]),
      ...(id === undefined || isName(id) ? [] : ["its id"]),
    ];
    if (wrong.length > 0) {
      const message = `the signal was not sent: ${wrong.join(" and ")} must be 1 to 200 printable characters, and no key begins with run:`;
      throw new FaultError(fault("INVALID_INPUT", message));
    }
    const checked = checkJson(payload, valueLimits);
    if (!checked.ok) {
      const reasons = checked.reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
      throw new FaultError(fault("INVALID_INPUT", `the signal was not sent: ${reasons.join("; ")}`, { reasons }));
    }
    return send(this.#ports, this.#holds, tenant, { key, payload: checked.value, by, id: id ?? null });
  }

  approve(gateId: string, options: ApproveOptions): Promise<void> {
    return approve(this.#ports, this.#holds, gateId, options);
  }

  reject(gateId: string, options: RejectOptions): Promise<void> {
    return reject(this.#ports, this.#holds, gateId, options);
  }

  async resolve(runId: string, stepId: string, options: ResolveOptions): Promise<void> {
    assertName(stepId, "the step");
    const principal = principalOf(options.principal);
    const run_id = runId as RunId;
    const step_id = stepId as StepId;
    const reason = reasonOf(options);
    const verdict = await this.#resolution(principal.tenant, run_id, step_id, options);
    await this.#holds.command(principal.tenant, run_id, (in_flight, run) => ({
      type: "resolve",
      now: this.#now(),
      step_id,
      principal,
      verdict,
      // Of the one that is there now, though the run may have moved on when this is decided.
      attempt: options.attempt ?? findStep(run, step_id)?.act?.attempt ?? null,
      reason,
      in_flight,
    }));
  }

  /** What a person says happened must fit the tool's output schema, or dependents could not build on it. */
  async #resolution(tenant: Tenant, run: RunId, step_id: StepId, options: ResolveOptions): Promise<Resolution> {
    if (options.as === "absent" || options.as === "give_up" || options.as === "verify") return { as: options.as };
    if (options.as !== "happened" && options.as !== "undo")
      throw new FaultError(
        fault("INVALID_INPUT", `${step_id} is settled as happened, absent, undo, give_up or verify; say one of them`),
      );
    const loaded = (await load(this.#ports.store, tenant, run)).run;
    const step = findStep(loaded, step_id);
    const name = step?.spec.name ?? "";
    if (options.as === "undo") {
      const record = await trustRecord(this.#ports, tenant, name, loaded.principal.id);
      return { as: "undo", tool: this.#ports.toolbox.facts(name), record };
    }
    if (step?.cause?.by === "undo") return { as: "happened", output: storable(options.output), flaw: null };
    if (step === undefined || step.act === null) {
      const flaw = fault("NOT_POSSIBLE", `${step_id} was never started, so there is nothing to say about how it ended`);
      return { as: "happened", output: null, flaw };
    }
    return this.#happened(step, options.output);
  }

  #happened({ spec }: Step, given: Json): Resolution {
    const tool = this.#ports.toolbox.get(spec.name);
    if (tool === undefined) {
      const message = `${spec.name} is not registered here, so what ${spec.step_id} answered cannot be checked; register it`;
      throw new FaultError(fault("TOOL_MISSING", message));
    }
    const parsed = tool.output.parse(given);
    if (parsed.ok) return { as: "happened", output: redacted(parsed.value, tool), flaw: null };
    const message = `the output given for ${spec.step_id} does not fit ${spec.name}: ${parsed.fault.message}; give what the tool would have answered`;
    return { as: "happened", output: null, flaw: { ...parsed.fault, message } };
  }

  async resume(runId: string, options: Reasoned): Promise<RunHandle> {
    const principal = principalOf(options.principal);
    const run_id = runId as RunId;
    const reason = reasonOf(options);
    await this.#holds.command(principal.tenant, run_id, () => ({
      type: "resume",
      now: this.#now(),
      principal,
      reason,
    }));
    return this.#handle(principal, { id: run_id, attached: true });
  }

  undo(runId: string, options: Reasoned): ReturnType<Engine["undo"]> {
    return undoRun(this.#ports, this.#holds, runId as RunId, options, {
      resolve: (run, step, how) => this.resolve(run, step, how),
      run: () => this.run(runId, options),
    });
  }

  async runs({ principal, status, ...page }: As & Page & { readonly status?: string }): Promise<readonly RunRow[]> {
    const { tenant } = principalOf(principal);
    if (status !== undefined) assertName(status, "status");
    const where = status === undefined ? {} : { where: { field: "status", equals: status } };
    const rows = await this.#ports.store.list(tenant, {
      table: "run",
      order: "newest",
      ...pageOf(page),
      ...where,
    });
    return rows.map(({ row }) => JSON.parse(row) as RunRow);
  }

  async gates({ principal, ...page }: As & Page): ReturnType<Engine["gates"]> {
    const { tenant } = principalOf(principal);
    const where = { field: "status", equals: "open" };
    const rows = await this.#ports.store.list(tenant, {
      table: "gate",
      order: "oldest",
      ...pageOf(page),
      where,
    });
    return gateViews(
      this.#ports,
      tenant,
      rows.map(({ row }) => JSON.parse(row) as GateRow),
    );
  }

  async gate(gateId: string, { principal }: As): Promise<GateView> {
    const { tenant } = principalOf(principal);
    const [view] = await gateViews(this.#ports, tenant, [await this.#gate(tenant, gateId)]);
    assert(view !== undefined, "a gate that is there is listed");
    if ("fault" in view) throw new FaultError(view.fault);
    return view;
  }

  async workers({ principal }: As): ReturnType<Engine["workers"]> {
    return workersOf(this.#ports.store, principalOf(principal).tenant);
  }

  cost(runId: string, { principal }: As): ReturnType<Engine["cost"]> {
    return costOf(this.#ports, principalOf(principal).tenant, runId as RunId);
  }

  async spent({ principal, period, by, project }: Parameters<Engine["spent"]>[0]): ReturnType<Engine["spent"]> {
    return spentOver(this.#ports, principalOf(principal).tenant, period, { by, project });
  }

  async budgets(options: Parameters<Engine["budgets"]>[0]): ReturnType<Engine["budgets"]> {
    return budgetsOf(this.#ports, principalOf(options.principal).tenant, options);
  }

  async audit({ principal, runId }: As & { readonly runId?: string }): Promise<AuditReport> {
    const who = principalOf(principal);
    if (runId === undefined) return auditTenant(this.#ports.store, who.tenant);
    await assertRun(this.#ports, who, runId as RunId);
    return auditRun(this.#ports.store, who.tenant, runId as RunId);
  }

  retain({ principal, endedBefore }: Parameters<Engine["retain"]>[0]): ReturnType<Engine["retain"]> {
    return retain(this.#ports, principalOf(principal).tenant, endedBefore as Instant);
  }

  async close(): Promise<void> {
    await this.#due.stop();
    await this.#holds.drain();
    this.#due.end();
    await this.#ports.store.close();
  }

  #now(): Instant {
    return this.#ports.clock.now();
  }

  #gate(tenant: Tenant, gateId: string): Promise<GateRow> {
    return gateRow(this.#ports, tenant, gateId as GateId);
  }

  #handle(principal: Principal, run: { readonly id: RunId; readonly attached: boolean }): RunHandle {
    return new Handle(this.#ports, this.#holds, principal, run);
  }
}
