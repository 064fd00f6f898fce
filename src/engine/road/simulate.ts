import { notDone } from "../../core/fault.ts";
import { type Guard, type Hold, judge } from "../../core/guard.ts";
import type { StepId } from "../../core/id.ts";
import type { Json } from "../../core/json/json.ts";
import type { Plan } from "../../core/plan/plan.ts";
import type { Principal } from "../../core/principal.ts";
import type { Tool, ToolContext } from "../../core/tool.ts";
import { cel } from "../../expression/cel.ts";
import { rehearsalStore } from "../../store/rehearsal/rehearsal-store.ts";
import type { Simulation, SubmitOptions } from "../api.ts";
import { Handle } from "../handle.ts";
import type { Ports } from "../ports.ts";
import { load } from "../record/load.ts";
import { noBoard } from "../rules/halt-board.ts";
import { Holds } from "../watch/holds.ts";
import { type Noticed, report } from "./simulation.ts";
import { submit } from "./submit.ts";
import { Toolbox } from "./toolbox.ts";

export interface SimulateOptions extends SubmitOptions {
  /**
   * recorded: what an earlier run was answered, where that may be reused; none: every read is unknown; live: what is not on record is
   * asked, each by a run of its own, with its cost.
   */
  readonly reads?: "recorded" | "none" | "live";
}

/** Asks for real what reads. */
type Live = (tool: string, input: Json) => Promise<Json>;

/**
 * Walks a plan down the same road on a store that keeps its writes to itself, with tools that do not touch the world: what is pure
 * or only writes state runs, what reads is answered from the record or asked, what acts is listed, and whoever would have to say yes is named.
 */
export async function simulate(
  real: Ports,
  plan: Plan,
  principal: Principal,
  options: SimulateOptions,
  live: Live,
): Promise<Simulation> {
  const noticed: Noticed = { stopped: new Map(), held: new Map() };
  const { requestKey: _key, mode, reads = "recorded", ...given } = options;
  const tools = real.toolbox.all().map((tool) => harmless(tool, noticed, reads === "live" ? live : null));
  const ports = rehearsing(real, tools, noticed);
  const holds = new Holds(ports, true);
  const asked = mode === undefined || mode === "dry_run" ? given : { ...given, mode };
  const submitted = await submit(ports, holds, rehearsed(plan, reads), principal, asked);
  const result = await new Handle(ports, holds, principal, submitted).result();
  await holds.drain();
  const { run } = await load(ports.store, principal.tenant, submitted.id);
  return report(ports, run, result, noticed);
}

function rehearsing(real: Ports, tools: readonly Tool[], { held }: Noticed): Ports {
  const store = rehearsalStore(real.store);
  return {
    ...real,
    store,
    leases: real.leases.on(store),
    toolbox: new Toolbox(tools, cel),
    projects: real.projects.on(store),
    tenants: real.tenants.rehearsing(),
    guards: [persuaded(real.guards, held)],
    halts: noBoard,
    alerted: new Set(),
    onNotice: null,
    failpoint: () => {},
  };
}

/** All guards as one that says yes where a person would be asked, and remembers whom. */
function persuaded(guards: readonly Guard[], held: Map<StepId, Hold>): Guard {
  return {
    id: "rehearsal",
    judge(admission) {
      const verdict = judge(guards, admission);
      if (verdict.kind !== "hold") return verdict;
      held.set(admission.step.spec.step_id, verdict);
      return { kind: "allow" };
    },
  };
}

/** A rehearsal asks every question: no step ends it, and nothing is attached to. */
function rehearsed(plan: Plan, reads: "recorded" | "none" | "live"): Plan {
  const steps = plan.steps.map((step) => ({
    ...step,
    on_failure: "skip" as const,
    on_rejected: "continue" as const,
    cache_policy: reads === "none" && step.effect === "reads" ? ("never" as const) : step.cache_policy,
  }));
  return { ...plan, intent_id: null, steps };
}

function harmless(tool: Tool, { stopped }: Noticed, live: Live | null): Tool {
  const drafted = tool.effect === "writes" && Object.keys(tool.resources).length === 0;
  if (tool.effect === "pure" || drafted) return tool;
  const { preview } = tool;
  const stop = async (input: Json, context: ToolContext): Promise<unknown> => {
    stopped.set(context.step_id, input);
    if (preview !== null) return preview(input, context);
    throw notDone("TOOL_FAILED", "a rehearsal does not touch the world");
  };
  const asks = live !== null && tool.effect === "reads" && Object.keys(tool.resources).length === 0;
  const run = asks ? (input: Json) => live(tool.name, input) : stop;
  return { ...tool, resources: {}, confirm: "none", tries: 1, verify: null, run };
}
