import type { HoldVerdict } from "../../core/call/guard.ts";
import { valueAt } from "../../core/json/json-pointer.ts";
import { type CostEstimate, estimatedUnits } from "../../core/limits/budget.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import type { Run, Step } from "../../core/run/run.ts";
import type { RunResult } from "../../core/run/run-result.ts";
import { isReversal } from "../../core/run/step.ts";
import type { StepResult } from "../../core/run/step-result.ts";
import { diffStates, type StateDifference } from "../../core/state/state-difference.ts";
import { identityCaution } from "../../core/tool/act-identity.ts";
import { type Effect, worseEffect } from "../../core/values/effect.ts";
import type { StepId } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";
import type { SimulatedGate, SimulatedStep, Simulation } from "../api/engine-api.ts";
import { estimateCost } from "../call/cost-estimate.ts";
import { openRunState } from "../state/attempt-state.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** The observations of a simulation about its steps. */
export interface SimulationNotes {
  /** By step, the input of a call that the simulation did not make. */
  readonly stopped: Map<StepId, Json>;
  /** By step, the hold that a guard demanded. The simulation continues as if it was approved. */
  readonly held: Map<StepId, HoldVerdict>;
}

/** Reports what a plan would do, from a simulated run. */
export async function reportSimulatedPlan(
  ports: WorkerPorts,
  run: Run,
  result: RunResult,
  notes: SimulationNotes,
): Promise<Simulation> {
  const steps: Record<string, SimulatedStep> = {};
  const acts: Simulation["acts"][number][] = [];
  const gates: SimulatedGate[] = [];
  for (const step of run.steps) {
    if (isReversal(step)) continue; // The report is about the plan; the rollback of an atomic plan undid nothing real.
    const { step_id, name: tool } = step.spec;
    const gate = simulatedGate(step, run, notes);
    const simulated = simulatedStep(step, stepEffect(ports, step), result, notes, gate !== null);
    steps[step_id] = simulated;
    if (gate !== null) gates.push(gate);
    if (simulated.would !== "act") continue;
    const reversible = ports.toolbox.facts(tool)?.compensates === true;
    const { input, needs_approval } = simulated;
    const caution = identityCaution(ports.toolbox.get(tool)?.identity ?? [], (pointer) => valueAt(input, pointer));
    acts.push({ step_id, tool, input, needs_approval, reversible, ...(caution !== null && { caution }) });
  }
  const all = Object.values(steps);
  const sure = all.every(({ would }) => would === "succeed");
  const status = sure ? "completed" : all.some(({ would }) => would === "fail") ? "failed" : "unknown";
  return {
    status,
    steps,
    acts,
    gates,
    changes: await simulatedChanges(ports, run),
    cost: simulatedCost(ports, run, notes),
  };
}

function stepEffect({ toolbox }: WorkerPorts, { spec }: Step): Effect {
  const facts = toolbox.facts(spec.name);
  return facts === null ? spec.effect : worseEffect(spec.effect, facts.effect);
}

/** Returns the approval that a step would need, because of a guard or of the ledger. */
function simulatedGate({ spec, gate }: Step, run: Run, { held }: SimulationNotes): SimulatedGate | null {
  const { step_id, name: tool } = spec;
  const hold = held.get(step_id) ?? (gate === null ? undefined : run.gates.get(gate));
  if (hold === undefined) return null;
  const { rule, reason, demand } = hold;
  return { step_id, tool, rule, reason, demand };
}

function simulatedStep(
  { spec: { step_id }, call }: Step,
  effect: Effect,
  result: RunResult,
  { stopped }: SimulationNotes,
  needs_approval: boolean,
): SimulatedStep {
  const step = result.steps[step_id] as StepResult;
  const acts = effect === "acts";
  if (step.state === "waiting_approval")
    return acts
      ? { would: "act", input: call?.input ?? null, needs_approval: true }
      : { would: "unknown", why: "it needs an approval first" };
  const input = stopped.get(step_id);
  if (input !== undefined && acts) {
    const output = step.state === "succeeded" ? { output: step.output } : {};
    return { would: "act", input, needs_approval, ...output };
  }
  if (input !== undefined && step.state !== "succeeded") return { would: "unknown", why: notRunReasons[effect] };
  if (step.state === "succeeded") return { would: "succeed", output: step.output };
  const failed = step.state === "skipped" && !["DEPENDENCY_FAILED", "ABORTED"].includes(step.fault.code);
  if (failed || step.state === "failed_final" || step.state === "rejected") return { would: "fail", fault: step.fault };
  // Nothing failed: a step that this one needs was not called.
  if (step.state === "skipped")
    return { would: "unknown", why: step.fault.message.replace(/, which is \w+$/, ", whose output is not known") };
  return { would: "unknown", why: `it would be ${step.state}` };
}

/** Why a simulation did not run a step, by effect. */
const notRunReasons: Readonly<Record<Effect, string>> = {
  pure: "it was not run",
  reads: "no earlier run has recorded its outcome",
  writes: "it changes resources",
  acts: "it was not called",
};

/** Returns the changes that the simulated steps made to state. */
async function simulatedChanges(ports: WorkerPorts, run: Run): Promise<readonly StateDifference[]> {
  if (ports.slices.length === 0) return [];
  const project = await openRunState(ports, run);
  project.leave();
  const mine = project.recentVersions(run.steps.length + 1).filter(({ point }) => point?.run_id === run.id);
  const [first] = mine;
  const base = first === undefined ? null : project.versionAt(first.version - 1);
  if (base === null) return [];
  return diffStates(
    base.state,
    project.head.state,
    mine.map(({ patch }) => patch),
  );
}

/** Returns the certain cost, and the highest cost: calls that were not made cost what their tools estimate. */
function simulatedCost(ports: WorkerPorts, run: Run, { stopped }: SimulationNotes): Simulation["cost"] {
  const { attempts: _attempts, ...spent } = run.spent;
  let least: CostEstimate = spent;
  let most: CostEstimate | null = spent;
  for (const step of run.steps) {
    const { spec, standing } = step;
    const wasRun = standing.state === "succeeded";
    const wasStopped = stopped.has(spec.step_id);
    if (isReversal(step) || !stepKinds[spec.kind].callsTool || standing.state === "rejected" || (wasRun && !wasStopped))
      continue;
    const expected = expectedStepCost(ports, step, stopped);
    // A preview was recorded as a success, with its expected cost.
    if (wasRun) least = addEstimate(least, expected ?? {}, -1);
    else most = most && expected && addEstimate(most, expected, 1);
  }
  return { least, most };
}

/** Returns the estimated cost of a step. Null: it is not known. */
function expectedStepCost(ports: WorkerPorts, step: Step, stopped: SimulationNotes["stopped"]): CostEstimate | null {
  const tool = ports.toolbox.get(step.spec.name);
  const input = stopped.get(step.spec.step_id) ?? step.call?.input;
  if (tool === undefined) return null;
  if (tool.cost === null) return tool.effect === "pure" || tool.effect === "writes" ? {} : null;
  return input === undefined ? null : estimateCost(step, tool, input).estimate;
}

function addEstimate(sum: CostEstimate, more: CostEstimate, times: 1 | -1): CostEstimate {
  const units = estimatedUnits.filter((unit) => sum[unit] !== undefined || more[unit] !== undefined);
  return Object.fromEntries(units.map((unit) => [unit, Math.max(0, (sum[unit] ?? 0) + times * (more[unit] ?? 0))]));
}
