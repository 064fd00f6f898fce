import type { Principal } from "../../core/approval/principal.ts";
import { evaluateGuards, type Guard, type HoldVerdict, isAsking } from "../../core/call/guard.ts";
import type { Plan } from "../../core/plan/plan.ts";
import type { RunResult } from "../../core/run/run-result.ts";
import type { Tool, ToolContext } from "../../core/tool/tool.ts";
import { fault, notDone } from "../../core/values/fault.ts";
import type { RunId, StepId } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";
import { lazyCel } from "../../expression/lazy-cel.ts";
import { overlayStore } from "../../store/simulation/overlay-store.ts";
import type { Simulation, SubmitOptions } from "../api/engine-api.ts";
import { ToolRegistry } from "../call/tool-registry.ts";
import { loadRun } from "../journal/load-run.ts";
import { bindOutcomes, hasOutcomeBindings } from "../messages/bind-outcomes.ts";
import { submitRun } from "../messages/submit-run.ts";
import { neverHalted } from "../rules/halt-cache.ts";
import { LeasedRuns } from "../worker/leased-runs.ts";
import { waitForResult } from "../worker/wait-for-result.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { reportSimulatedPlan, type SimulationNotes } from "./report-simulated-plan.ts";

export interface SimulateOptions extends SubmitOptions {
  /**
   * recorded: reads are answered by reusable outcomes of earlier runs. none: every read is unknown. live: reads without
   * a recorded outcome are really called, each as a run of its own, with its cost.
   */
  readonly reads?: "recorded" | "none" | "live";
}

/** Really calls a tool that reads. */
type AskLive = (tool: string, input: Json) => Promise<Json>;

/**
 * Runs a plan on a store that discards its writes, with tools that have no effect outside. Tools that are pure or write
 * only state run; reads are answered from earlier runs or called; acts and needed approvals are listed.
 */
export async function simulatePlan(
  real: WorkerPorts,
  plan: Plan,
  principal: Principal,
  options: SimulateOptions,
  live: AskLive,
): Promise<Simulation> {
  const { ports, notes, id, result } = await runSimulation(real, plan, principal, options, live);
  const { run } = await loadRun(ports.store, principal.tenant, id);
  return reportSimulatedPlan(ports, run, result, notes);
}

/** A simulated run that has gone as far as it can, and the store that has it. */
export interface SimulatedRun {
  readonly ports: WorkerPorts;
  readonly notes: SimulationNotes;
  readonly id: RunId;
  readonly result: RunResult;
}

/** Runs a plan on a store that discards its writes. */
export async function runSimulation(
  real: WorkerPorts,
  plan: Plan,
  principal: Principal,
  options: SimulateOptions,
  live: AskLive | null,
): Promise<SimulatedRun> {
  const notes: SimulationNotes = { stopped: new Map(), held: new Map() };
  const { requestKey: _key, intent: _intent, mode, reads = "recorded", ...given } = options;
  const tools = real.toolbox.callable.all().map((tool) => harmlessTool(tool, notes, reads === "live" ? live : null));
  const ports = simulationPorts(real, tools, notes);
  const leasedRuns = new LeasedRuns(ports, true);
  const asked = mode === undefined || mode === "dry_run" ? given : { ...given, mode };
  // A refused binding is thrown here, so that it names no record: a record of the simulation is discarded.
  const bound = hasOutcomeBindings(plan) ? await bindOutcomes(real, principal, plan) : plan;
  const { id } = await submitRun(ports, leasedRuns, simulatedPlan(bound, reads), principal, asked);
  const result = await waitForResult(ports, leasedRuns, principal.tenant, id);
  await leasedRuns.drain();
  return { ports, notes, id, result };
}

function simulationPorts(real: WorkerPorts, tools: readonly Tool[], { held }: SimulationNotes): WorkerPorts {
  const store = overlayStore(real.store);
  return {
    ...real,
    store,
    leases: real.leases.withStore(store),
    toolbox: new ToolRegistry([], lazyCel, { state: tools }),
    projects: real.projects.withStore(store),
    tenants: real.tenants.forSimulation(),
    rules: { ...real.rules, guards: [approvingGuard(real.rules.guards, held)] },
    halts: neverHalted,
    alerted: new Set(),
    onNotice: null,
    gateNotices: {},
    failpoint: () => {},
  };
}

/** Combines the guards into one that allows held calls and notes each hold. */
function approvingGuard(guards: readonly Guard[], held: Map<StepId, HoldVerdict>): Guard {
  return {
    id: "rehearsal",
    judge(admission) {
      const verdict = evaluateGuards(guards, admission);
      if (verdict.kind !== "hold") return verdict;
      held.set(admission.step.spec.step_id, verdict);
      if (!isAsking(verdict)) return { kind: "allow" };
      return { kind: "refuse", rule: verdict.rule, fault: fault("MISSING_REQUIRED_CONTEXT", verdict.reason) };
    },
  };
}

/** Changes the plan so that no step ends the simulation, and that it attaches to no earlier run. */
function simulatedPlan(plan: Plan, reads: "recorded" | "none" | "live"): Plan {
  const steps = plan.steps.map((step) => ({
    ...step,
    on_failure: "skip" as const,
    on_rejected: "continue" as const,
    cache_policy: reads === "none" && step.effect === "reads" ? ("never" as const) : step.cache_policy,
  }));
  return { ...plan, intent_id: null, steps };
}

function harmlessTool(tool: Tool, { stopped }: SimulationNotes, live: AskLive | null): Tool {
  const drafted = tool.effect === "writes" && Object.keys(tool.resources).length === 0;
  if (tool.effect === "pure" || drafted) return tool;
  const { preview } = tool;
  const stop = async (input: Json, context: ToolContext): Promise<unknown> => {
    stopped.set(context.step_id, input);
    if (preview !== null) return preview(input, context);
    throw notDone("TOOL_FAILED", "a simulation does not call tools that act");
  };
  const asks = live !== null && tool.effect === "reads" && Object.keys(tool.resources).length === 0;
  const run = asks ? (input: Json) => live(tool.name, input) : stop;
  const compensate = tool.compensate === null ? null : async () => null;
  return { ...tool, resources: {}, confirm: "none", tries: 1, verify: null, compensate, run };
}
