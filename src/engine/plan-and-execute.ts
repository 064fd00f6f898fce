import type { PlanInput } from "../core/plan/plan-input.ts";
import { isUsable, type RankedPlan, type RankTerms, rankPlans } from "../core/plan/rank-plans.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { RunId } from "../core/values/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/values/json.ts";
import type { ToolActivityOptions, ToolActivityReport } from "./api/activity-api.ts";
import type { AbortableSubmitOptions, CallResult, CheckOptions, PlanReport, RunHandle } from "./api/engine-api.ts";
import { replanLimits } from "./api/replan-options.ts";

/** The methods of an engine that planning uses. Those of a client of a server fit, too. */
export interface PlanningEngine<Handle = RunHandle> {
  check(plan: unknown, options?: CheckOptions): PlanReport | Promise<PlanReport>;
  call(tool: string, input: Json, options: PlanningOptions): Promise<CallResult>;
  submit(plan: unknown, options: AbortableSubmitOptions): Promise<Handle>;
  readonly tools: { activity(options: ToolActivityOptions): Promise<ToolActivityReport> };
}

/** The options of the call of a planner. */
export type PlanningOptions = Pick<
  AbortableSubmitOptions,
  "principal" | "project" | "session" | "requestKey" | "deadlineMs"
>;

/** The plans to choose from, or the planner that proposes them. */
export type PlanSource =
  | { readonly plans: readonly PlanInput[] }
  | {
      /** The tool that proposes plans, made by `definePlanner`. */
      readonly planner: string;
      readonly goal: Json;
      /** The number of plans that are wanted, 1 to 10. Default: 3. */
      readonly candidates?: number;
    };

export type PlanAndExecuteOptions = PlanSource &
  Omit<AbortableSubmitOptions, "fallbacks"> & {
    /** How candidates are ranked. Default: by the history of tools that the principal may read. */
    readonly rank?: RankTerms;
  };

/** The run of the best plan, and all candidates with their scores. The other usable ones are its fallbacks. */
export interface PlannedRun<Handle = RunHandle> {
  readonly run: Handle;
  readonly ranked: readonly RankedPlan[];
  /** The run in which the planner answered. Null: the caller gave the plans. */
  readonly planned_in: RunId | null;
}

/** Checks and ranks plans for a submission, the best first. */
export async function rankCandidates(
  engine: Pick<PlanningEngine<unknown>, "check" | "tools">,
  plans: readonly PlanInput[],
  {
    rank,
    principal,
    ...terms
  }: Pick<AbortableSubmitOptions, "principal"> & CheckOptions & { readonly rank?: RankTerms },
): Promise<readonly RankedPlan[]> {
  const candidates = [];
  for (const plan of plans) {
    // A client of a server names no principal: the server judges its caller.
    const { ok, findings, bounds } = await engine.check(plan, {
      ...terms,
      ...((principal as typeof principal | undefined) !== undefined && { principal }),
    });
    candidates.push({ plan, ok, findings, bounds });
  }
  const history = rank?.history ?? (await engine.tools.activity({ principal })).tools;
  return rankPlans(candidates, { ...rank, history });
}

/**
 * Ranks plans and runs the best. If it does not complete, the next one continues its run: no act is repeated. Throws if
 * there is no usable plan; the refusal is on record.
 */
export async function planAndExecute<Handle = RunHandle>(
  engine: PlanningEngine<Handle>,
  options: PlanAndExecuteOptions,
): Promise<PlannedRun<Handle>> {
  const { rank, submission, source } = splitOptions(options);
  const { plans, planned_in } =
    source.planner === null ? { plans: source.plans, planned_in: null } : await ask(engine, source, submission);
  const { principal, project, session, context, mode, deadlineMs } = submission;
  const ranked = await rankCandidates(engine, plans.slice(0, replanLimits.fallbacks + 1), {
    principal,
    ...(project !== undefined && { project }),
    ...(session !== undefined && { session }),
    ...(context !== undefined && { context }),
    ...(mode !== undefined && { mode }),
    ...(deadlineMs !== undefined && { deadlineMs }),
    ...(rank !== undefined && { rank }),
  });
  const [best, ...others] = ranked;
  if (best === undefined) throw new FaultError(fault("PLAN_INVALID", "there is no plan to run"));
  // A plan that cannot run is submitted as well: the refusal of the engine is the record.
  const fallbacks = others.filter(isUsable).map(({ plan }) => plan);
  const run = await engine.submit(best.plan, { ...submission, ...(fallbacks.length > 0 && { fallbacks }) });
  return { run, ranked, planned_in };
}

interface SplitOptions {
  readonly rank: RankTerms | undefined;
  readonly submission: AbortableSubmitOptions;
  readonly source: { readonly planner: null; readonly plans: readonly PlanInput[] } | PlannerQuestion;
}

interface PlannerQuestion {
  readonly planner: string;
  readonly goal: Json;
  readonly candidates: number;
}

function splitOptions(options: PlanAndExecuteOptions): SplitOptions {
  const { rank, plans, planner, goal, candidates, ...submission } = options as AbortableSubmitOptions & {
    readonly rank?: RankTerms;
    readonly plans?: readonly PlanInput[];
    readonly planner?: string;
    readonly goal?: Json;
    readonly candidates?: number;
  };
  if (plans !== undefined && planner === undefined)
    return { rank, submission, source: { planner: null, plans: readPlans(plans) } };
  if (plans !== undefined || planner === undefined)
    throw new FaultError(fault("INVALID_INPUT", "give plans, or a planner and its goal, and not both"));
  const wanted = candidates ?? 3;
  const most = replanLimits.fallbacks + 1;
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > most)
    throw new FaultError(fault("INVALID_INPUT", `candidates must be a whole number, 1 to ${most}`));
  return { rank, submission, source: { planner, goal: goal ?? null, candidates: wanted } };
}

function readPlans(plans: unknown): readonly PlanInput[] {
  if (Array.isArray(plans)) return plans;
  throw new FaultError(fault("INVALID_INPUT", "plans must be a list of plans"));
}

/** Asks the planner, as a run of its own: a repeated request with the same key is answered from the record. */
async function ask(
  engine: Pick<PlanningEngine<unknown>, "call">,
  { planner, goal, candidates }: PlannerQuestion,
  { principal, project, session, requestKey, deadlineMs }: PlanningOptions,
): Promise<{ readonly plans: readonly PlanInput[]; readonly planned_in: RunId }> {
  const { step, run_id } = await engine.call(
    planner,
    { goal, candidates },
    {
      principal,
      ...(project !== undefined && { project }),
      ...(session !== undefined && { session }),
      ...(requestKey !== undefined && { requestKey: `plan ${requestKey}` }),
      ...(deadlineMs !== undefined && { deadlineMs }),
    },
  );
  if (step.state === "succeeded") return { plans: plansIn(step.output), planned_in: run_id };
  const { code, message } = step.fault ?? fault("HELD_FOR_APPROVAL", `the call of ${planner} is ${step.state}`);
  const detail: JsonObject = { run_id, state: step.state };
  throw new FaultError(fault(code, `${message}; it is on record as ${run_id}`, detail));
}

function plansIn(output: Json): readonly PlanInput[] {
  const plans = isJsonObject(output) ? output.plans : null;
  return (Array.isArray(plans) ? plans : []) as unknown as readonly PlanInput[];
}
