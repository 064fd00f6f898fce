import type { ToolPin } from "../event/tool-pin.ts";
import type { PlanStep } from "../plan/plan.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { Digest } from "../values/ids.ts";
import { isJsonObject } from "../values/json.ts";
import type { Parked } from "./parked-run.ts";
import { type Run, type Step, stepsParkedForTools } from "./run.ts";
import { runDueAt } from "./run-wakeups.ts";

/** The requirement of a worker that delivers notices. The requirement of a tool contains "@". */
export const noticeRequirement = "notice";

const NONE: readonly string[] = [];

/** Returns the requirement of a worker with these rules. */
export function rulesRequirement(digest: Digest): string {
  return `rules@${digest}`;
}

/** Returns the requirement of a tool as the run was accepted with it. */
export function toolRequirement(name: string, { version, schema_hash, act_hash }: ToolPin): string {
  const acts = act_hash === undefined ? "" : `:${act_hash.slice(0, 16)}`;
  return `${name}@${version}:${schema_hash.slice(0, 16)}${acts}`;
}

/** Returns the requirements that a tool meets. A run that was accepted earlier may have pinned it without `act_hash`. */
export function requirementsMet(name: string, { act_hash, ...old }: ToolPin): readonly string[] {
  const met = toolRequirement(name, old);
  return act_hash === undefined ? [met] : [toolRequirement(name, { ...old, act_hash }), met];
}

/** The most tools of a run in its timer row. A run with more is claimed by any worker. */
const TOOLS_MAX = 16;

/** Returns the requirements of the tools that the run was accepted with; none if any worker claims it. */
export function runTools({ tools }: Pick<Run, "tools">): readonly string[] {
  const pins = Object.entries(tools);
  return pins.length > TOOLS_MAX ? NONE : pins.map(([name, pin]) => toolRequirement(name, pin));
}

/** The maximum number of tool requirements in the row. The others are listed after one of these is met. */
const REQUIREMENTS_MAX = 64;

/**
 * Returns what the run needs that not every worker has. A worker that meets one requirement can continue the run. Empty
 * while any worker can continue the run: the requirements are computed again after that.
 */
export function workerRequirements(run: Run): readonly string[] {
  if (run.notices.size === run.pendingRunNotices && run.parkedForTools.size === 0 && run.parked === null) return NONE;
  if (runDueAt(run) === run.accepted_at) return NONE;
  const tools =
    run.ended !== null ? NONE : run.parked === null ? toolRequirements(run) : parkedRequirements(run.parked);
  return run.notices.size > run.pendingRunNotices ? [noticeRequirement, ...tools] : tools;
}

/** A worker with the pinned rules continues a parked run. */
function parkedRequirements(parked: Parked): readonly string[] {
  return parked.for === "rules" && parked.from !== null ? [rulesRequirement(parked.from)] : NONE;
}

/** Returns whether only its caller can continue a step: the caller runs it by a function of its own, or does it itself. */
export function isCallerAway({ standing, cause }: Pick<Step, "standing" | "cause">): boolean {
  if (standing.state !== "waiting" || standing.on.for !== "tool" || standing.on.fault.code !== "TOOL_AWAY")
    return false;
  return (cause?.by === "agent" && cause.handler !== undefined) || isHostAway(standing.on.fault);
}

/** The fault of a step whose tool has no handler: a host does its work, and has not begun. */
export function hostAwayFault({ step_id, name }: Pick<PlanStep, "step_id" | "name">): Fault {
  const message = `${step_id} continues when the host that does ${name} itself begins the call`;
  return fault("TOOL_AWAY", message, { waits_for: "host" });
}

function isHostAway({ detail = null }: Fault): boolean {
  return isJsonObject(detail) && detail.waits_for === "host";
}

function toolRequirements(run: Run): readonly string[] {
  const requirements = new Set<string>();
  for (const step of stepsParkedForTools(run)) {
    const { spec, pin } = step;
    if (pin !== null && !isCallerAway(step)) requirements.add(toolRequirement(spec.name, pin));
    if (requirements.size === REQUIREMENTS_MAX) break;
  }
  return [...requirements];
}
