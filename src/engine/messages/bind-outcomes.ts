import { judgeVerb } from "../../core/approval/judge-verb.ts";
import type { Principal } from "../../core/approval/principal.ts";
import { actFinding, confirmationFault } from "../../core/decide/act-finding.ts";
import { pointersOverlap, valueAt, withValuesAt } from "../../core/json/json-pointer.ts";
import { type OutcomeBinding, type Plan, type PlanBinding, type PlanStep, planLimits } from "../../core/plan/plan.ts";
import { findStep, type Run, type Step } from "../../core/run/run.ts";
import type { OutcomeRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Json } from "../../core/values/json.ts";
import { sightRecordedAct } from "../call/verify.ts";
import { loadRun } from "../journal/load-run.ts";
import { digestOfJson } from "../ports/digest.ts";
import { jsonBytesAtMost } from "../ports/storable-json.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { judgeRecordedCall } from "./find-run-of-request.ts";

const bound = new WeakMap<Plan, boolean>();

/** True if a step of the plan uses an outcome of an earlier run. */
export function hasOutcomeBindings(plan: Plan): boolean {
  const known = bound.get(plan);
  if (known !== undefined) return known;
  const found = plan.steps.some(({ bindings }) => Object.values(bindings).some(isUnread));
  bound.set(plan, found);
  return found;
}

function isUnread(binding: PlanBinding): binding is OutcomeBinding {
  return "outcome" in binding && binding.from === undefined;
}

/** An outcome that the principal may use, and the step that made it. */
interface ReadOutcome {
  readonly run: Run;
  readonly step: Step;
  readonly output: Json;
  /** True: the verifier does not confirm it, and its tool demands that a person decides. */
  readonly held: boolean;
}

/**
 * Returns the plan with the outcomes of earlier runs that its steps are bound to. Throws if the principal may not read
 * one, if its step was undone or erased, or if its tool demands a confirmation that fails.
 */
export async function bindOutcomes(ports: WorkerPorts, principal: Principal, plan: Plan): Promise<Plan> {
  const ids = new Set<string>();
  for (const { bindings } of plan.steps)
    for (const binding of Object.values(bindings)) if (isUnread(binding)) ids.add(binding.outcome);
  if (ids.size > planLimits.boundOutcomes) {
    const message = `a plan is bound to at most ${planLimits.boundOutcomes} outcomes of earlier runs; this one to ${ids.size}`;
    throw new FaultError(fault("PLAN_INVALID", message));
  }
  const outcomes = new Map<string, ReadOutcome>();
  for (const id of ids) outcomes.set(id, await readOutcome(ports, principal, id));
  const budget = { bytes: planLimits.bytes };
  return { ...plan, steps: plan.steps.map((step) => bindStep(ports, step, outcomes, budget)) };
}

async function readOutcome(ports: WorkerPorts, principal: Principal, id: string): Promise<ReadOutcome> {
  const { tenant } = principal;
  const stored = await ports.store.row(tenant, "outcome", id);
  if (stored === null) throw new FaultError(fault("OUTCOME_NOT_FOUND", `there is no outcome ${id}`));
  const { run_id, step_id } = JSON.parse(stored.row) as OutcomeRow;
  const { run } = await loadRun(ports.store, tenant, run_id);
  const denied = judgeVerb(principal, "outcome", { by: run.principal.id, project: run.project, admin: null });
  if (denied !== null) throw new FaultError(denied);
  const step = findStep(run, step_id);
  if (step?.standing.state !== "succeeded") {
    const why = step === undefined ? "does not exist" : `is ${step.standing.state}`;
    throw new FaultError(fault("OUTCOME_NOT_FOUND", `outcome ${id} has no value now: its step ${why}`));
  }
  const refused = await judgeRecordedCall(ports, run, step, principal);
  if (refused !== null) throw new FaultError(refused);
  return { run, step, output: step.standing.output, held: await isHeld(ports, run, step) };
}

/** Has the verifier of an act confirm it. Throws if it is not confirmed and its tool is strict. */
async function isHeld(ports: WorkerPorts, run: Run, step: Step): Promise<boolean> {
  const { act, spec } = step;
  if (act?.confirm == null || act.confirm === "warn") return false;
  const failed = confirmationFault(spec.step_id, actFinding(await sightRecordedAct(ports, run, step)));
  if (failed === null) return false;
  if (act.confirm === "gate") return true;
  throw new FaultError(failed);
}

function bindStep(
  ports: WorkerPorts,
  step: PlanStep,
  outcomes: ReadonlyMap<string, ReadOutcome>,
  budget: { bytes: number },
): PlanStep {
  const entries = Object.entries(step.bindings);
  if (!entries.some(([, binding]) => isUnread(binding))) return step;
  const values: [string, Json][] = [];
  let gate = step.gate;
  const bindings = entries.map(([target, binding]): [string, PlanBinding] => {
    if (!isUnread(binding)) return [target, binding];
    const source = outcomes.get(binding.outcome) as ReadOutcome;
    const value = boundValue(ports, source, binding, `${step.step_id}: ${target}`);
    budget.bytes -= jsonBytesAtMost(value);
    values.push([target, value]);
    if (source.held) gate = "human_confirm";
    return [target, { ...binding, from: { run: source.run.id, step: source.step.spec.step_id } }];
  });
  if (budget.bytes < 0) {
    const message = `the outcomes that the plan is bound to are larger than ${planLimits.bytes} bytes; bind parts of them`;
    throw new FaultError(fault("LIMIT_EXCEEDED", message));
  }
  const payload = withValuesAt(step.payload, values);
  if (payload === undefined)
    throw new FaultError(fault("INVALID_INPUT", `${step.step_id}: its payload has no place for a bound outcome`));
  return { ...step, gate, payload: payload as PlanStep["payload"], bindings: Object.fromEntries(bindings) };
}

function boundValue(
  { toolbox }: WorkerPorts,
  { step, output }: ReadOutcome,
  { outcome, path, as }: OutcomeBinding,
  where: string,
): Json {
  const hidden = toolbox.get(step.spec.name)?.redact.find((pointer) => pointersOverlap(pointer, path));
  if (hidden !== undefined) {
    const message = `${where} is bound to ${hidden} of ${outcome}, which is redacted: it is stored as a digest`;
    throw new FaultError(fault("INVALID_INPUT", message));
  }
  const value = valueAt(output, path);
  if (value === undefined) {
    const message = `${where} is bound to ${outcome}${path}, which has no value`;
    throw new FaultError(fault("MISSING_REQUIRED_CONTEXT", message));
  }
  return as === "sha256" ? digestOfJson(value) : value;
}
