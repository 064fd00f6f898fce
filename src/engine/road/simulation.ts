import { type Effect, worst } from "../../core/effect.ts";
import type { Hold } from "../../core/guard.ts";
import type { StepId } from "../../core/id.ts";
import type { Json } from "../../core/json/json.ts";
import { type Estimate, estimated } from "../../core/limits/budget.ts";
import type { RunResult, StepResult } from "../../core/result.ts";
import type { Run, Step } from "../../core/run.ts";
import { type Difference, differences } from "../../core/state/difference.ts";
import type { SimulatedGate, SimulatedStep, Simulation } from "../api.ts";
import { openProject } from "../desk/desk.ts";
import type { Ports } from "../ports.ts";
import { estimateFor } from "./fare.ts";

/** What a rehearsal noticed on its way. */
export interface Noticed {
  /** By step, the input that it was stopped with before it touched the world. */
  readonly stopped: Map<StepId, Json>;
  /** By step, what holds it for a person. A rehearsal goes on as though they said yes. */
  readonly held: Map<StepId, Hold>;
}

/** What a rehearsal has shown, for whoever wants to know what a plan would do. */
export async function report(ports: Ports, run: Run, result: RunResult, noticed: Noticed): Promise<Simulation> {
  const steps: Record<string, SimulatedStep> = {};
  const acts: Simulation["acts"][number][] = [];
  const gates: SimulatedGate[] = [];
  for (const step of run.steps) {
    const { step_id, name: tool } = step.spec;
    const gate = gateOf(step, run, noticed);
    const told = simulated(step, effectOf(ports, step), result, noticed, gate !== null);
    steps[step_id] = told;
    if (gate !== null) gates.push(gate);
    if (told.would !== "act") continue;
    const reversible = ports.toolbox.facts(tool)?.compensates === true;
    acts.push({ step_id, tool, input: told.input, needs_approval: told.needs_approval, reversible });
  }
  const all = Object.values(steps);
  const sure = all.every(({ would }) => would === "succeed");
  const status = sure ? "completed" : all.some(({ would }) => would === "fail") ? "failed" : "unknown";
  return { status, steps, acts, gates, changes: await changesOf(ports, run), cost: costOf(ports, run, noticed) };
}

function effectOf({ toolbox }: Ports, { spec }: Step): Effect {
  const facts = toolbox.facts(spec.name);
  return facts === null ? spec.effect : worst(spec.effect, facts.effect);
}

/** Whose yes a step would need: a guard asks for it, or the ledger, which a rehearsal does not talk round. */
function gateOf({ spec, gate }: Step, run: Run, { held }: Noticed): SimulatedGate | null {
  const { step_id, name: tool } = spec;
  const asked = held.get(step_id) ?? (gate === null ? undefined : run.gates.get(gate));
  if (asked === undefined) return null;
  const { rule, reason, demand } = asked;
  return { step_id, tool, rule, reason, demand };
}

function simulated(
  { spec: { step_id }, call }: Step,
  effect: Effect,
  result: RunResult,
  { stopped }: Noticed,
  needs_approval: boolean,
): SimulatedStep {
  const step = result.steps[step_id] as StepResult;
  const acts = effect === "acts";
  if (step.state === "waiting_approval")
    return acts
      ? { would: "act", input: call?.input ?? null, needs_approval: true }
      : { would: "unknown", why: "a person decides first" };
  const input = stopped.get(step_id);
  if (input !== undefined && acts) {
    const output = step.state === "succeeded" ? { output: step.output } : {};
    return { would: "act", input, needs_approval, ...output };
  }
  if (input !== undefined && step.state !== "succeeded") return { would: "unknown", why: untouched[effect] };
  if (step.state === "succeeded") return { would: "succeed", output: step.output };
  if (step.state === "failed_final" || step.state === "rejected") return { would: "fail", fault: step.fault };
  // Nothing failed here: what it needs was kept from the world.
  if (step.state === "skipped")
    return { would: "unknown", why: step.fault.message.replace(/, which is \w+$/, ", whose answer is not known") };
  return { would: "unknown", why: `it would be ${step.state}` };
}

/** Why a rehearsal did not run it. */
const untouched: Readonly<Record<Effect, string>> = {
  pure: "it was not run",
  reads: "it was never asked before",
  writes: "it changes what a rehearsal leaves alone",
  acts: "it was not done",
};

/** What state would be afterwards, as far as was rehearsed. */
async function changesOf(ports: Ports, run: Run): Promise<readonly Difference[]> {
  if (ports.slices.length === 0) return [];
  const project = await openProject(ports, run);
  project.leave();
  const mine = project.recent(run.steps.length + 1).filter(({ point }) => point?.run_id === run.id);
  const [first] = mine;
  const base = first === undefined ? null : project.at(first.version - 1);
  if (base === null) return [];
  return differences(
    base.state,
    project.head.state,
    mine.map(({ patch }) => patch),
  );
}

/** What is certain, and what it may come to: what was not run costs what its tool expects, if anyone can tell. */
function costOf(ports: Ports, run: Run, { stopped }: Noticed): Simulation["cost"] {
  const { attempts: _attempts, ...spent } = run.spent;
  let least: Estimate = spent;
  let most: Estimate | null = spent;
  for (const step of run.steps) {
    const { spec, standing } = step;
    const wasRun = standing.state === "succeeded";
    const wasStopped = stopped.has(spec.step_id);
    if (spec.kind !== "operator" || standing.state === "rejected" || (wasRun && !wasStopped)) continue;
    const expected = expectedOf(ports, step, stopped);
    // What a preview answered for was put down as though it had been done.
    if (wasRun) least = plus(least, expected ?? {}, -1);
    else most = most && expected && plus(most, expected, 1);
  }
  return { least, most };
}

/** Null: nobody can tell. */
function expectedOf(ports: Ports, step: Step, stopped: Noticed["stopped"]): Estimate | null {
  const tool = ports.toolbox.get(step.spec.name);
  const input = stopped.get(step.spec.step_id) ?? step.call?.input;
  if (tool === undefined) return null;
  if (tool.cost === null) return tool.effect === "pure" || tool.effect === "writes" ? {} : null;
  return input === undefined ? null : estimateFor(step, tool, input).estimate;
}

function plus(sum: Estimate, more: Estimate, times: 1 | -1): Estimate {
  const units = estimated.filter((unit) => sum[unit] !== undefined || more[unit] !== undefined);
  return Object.fromEntries(units.map((unit) => [unit, Math.max(0, (sum[unit] ?? 0) + times * (more[unit] ?? 0))]));
}
