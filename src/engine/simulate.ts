import { notDone } from "../core/fault.ts";
import type { StepId } from "../core/id.ts";
import type { Json } from "../core/json.ts";
import type { Plan } from "../core/plan.ts";
import type { Principal } from "../core/principal.ts";
import type { RunResult, StepResult } from "../core/result.ts";
import type { Tool } from "../core/tool.ts";
import { cel } from "../expression/cel.ts";
import { rehearsalStore } from "../store/rehearsal/rehearsal-store.ts";
import type { SimulatedStep, Simulation, SubmitOptions } from "./api.ts";
import { noBoard } from "./halt-board.ts";
import { Handle } from "./handle.ts";
import { Holds } from "./holds.ts";
import type { Ports } from "./ports.ts";
import { submit } from "./submit.ts";
import { Toolbox } from "./toolbox.ts";

export interface SimulateOptions extends SubmitOptions {
  /** recorded: what an earlier run was answered, where that may be reused; none: every read is unknown. */
  readonly reads?: "recorded" | "none";
}

/**
 * Walks a plan down the same road on a store that keeps its writes to itself, with tools that do not touch the world:
 * what is pure runs, what reads is answered from the record, what acts is listed.
 */
export async function simulate(
  real: Ports,
  plan: Plan,
  principal: Principal,
  options: SimulateOptions,
): Promise<Simulation> {
  const stopped = new Map<StepId, Json>();
  const tools = real.toolbox.all().map((tool) => harmless(tool, stopped));
  const store = rehearsalStore(real.store);
  const ports: Ports = {
    ...real,
    store,
    leases: real.leases.on(store),
    toolbox: new Toolbox(tools, cel),
    projects: real.projects.on(store),
    tenants: real.tenants.rehearsing(),
    halts: noBoard,
    onNotice: null,
    failpoint: () => {},
  };
  const holds = new Holds(ports, true);
  const { requestKey: _key, mode, reads, ...given } = options;
  const asked = mode === undefined || mode === "dry_run" ? given : { ...given, mode };
  const submitted = await submit(ports, holds, rehearsed(plan, reads ?? "recorded"), principal, asked);
  const result = await new Handle(ports, holds, principal, submitted).result();
  await holds.drain();
  return report(result, plan, stopped);
}

/** A rehearsal asks every question: no step ends it, and nothing is attached to. */
function rehearsed(plan: Plan, reads: "recorded" | "none"): Plan {
  const steps = plan.steps.map((step) => ({
    ...step,
    on_failure: "skip" as const,
    on_rejected: "continue" as const,
    cache_policy: reads === "none" && step.effect === "reads" ? ("never" as const) : step.cache_policy,
  }));
  return { ...plan, intent_id: null, steps };
}

function harmless(tool: Tool, stopped: Map<StepId, Json>): Tool {
  const drafted = tool.effect === "writes" && Object.keys(tool.resources).length === 0;
  if (tool.effect === "pure" || drafted) return tool;
  return {
    ...tool,
    resources: {},
    confirm: "none",
    tries: 1,
    verify: null,
    run: async (input, { step_id }) => {
      stopped.set(step_id, input);
      throw notDone("TOOL_FAILED", "a rehearsal does not touch the world");
    },
  };
}

function report(result: RunResult, plan: Plan, stopped: ReadonlyMap<StepId, Json>): Simulation {
  const steps: Record<string, SimulatedStep> = {};
  const acts: Simulation["acts"][number][] = [];
  for (const { step_id, name, effect } of plan.steps) {
    const step = simulated(step_id, result, effect === "acts", stopped);
    steps[step_id] = step;
    if (step.would === "act")
      acts.push({ step_id, tool: name, input: step.input, needs_approval: step.needs_approval });
  }
  const sure = Object.values(steps).every((step) => step.would === "succeed");
  const fails = Object.values(steps).some((step) => step.would === "fail");
  return { status: sure ? "completed" : fails ? "failed" : "unknown", steps, acts };
}

function simulated(id: StepId, result: RunResult, acts: boolean, stopped: ReadonlyMap<StepId, Json>): SimulatedStep {
  const step = result.steps[id] as StepResult;
  const gate = result.gates.find((open) => open.step_id === id);
  if (gate !== undefined && acts) return { would: "act", input: gate.input, needs_approval: true };
  if (gate !== undefined) return { would: "unknown", why: "a person decides first" };
  const input = stopped.get(id);
  if (input !== undefined)
    return acts
      ? { would: "act", input, needs_approval: false }
      : { would: "unknown", why: "it was never asked before" };
  if (step.state === "succeeded") return { would: "succeed", output: step.output };
  if (step.state === "failed_final" || step.state === "rejected") return { would: "fail", fault: step.fault };
  // Nothing failed here: what it needs was kept from the world.
  if (step.state === "skipped")
    return { would: "unknown", why: step.fault.message.replace(/, which is \w+$/, ", whose answer is not known") };
  return { would: "unknown", why: `it would be ${step.state}` };
}
