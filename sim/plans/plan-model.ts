import type { CaseStep, PlanCase } from "./plan-case.ts";

/** The end of a run as the model or the engine tells it. */
export interface PlanEnd {
  readonly status: string;
  /** By step: succeeded, skipped, cancelled, failed_final, compensated or compensation_failed. */
  readonly steps: Readonly<Record<string, string>>;
  /** The entries of the state. */
  readonly state: Readonly<Record<string, string>>;
  /** By act: how often it was done and undone in the world. */
  readonly world: Readonly<Record<string, { readonly done: number; readonly undone: number }>>;
}

/** The facts that the model takes from the journal of the engine: the order of the calls that succeeded, and the cancellation. */
export interface PlanHistory {
  readonly succeeded: readonly string[];
  readonly isCancelled: boolean;
  /** The first step that ended the plan, or null. */
  readonly stopped: string | null;
}

/**
 * Runs a plan serially, one call after the other in the order of the history, by the rules of the design: a step starts
 * after its needs, a failed step ends the plan or is skipped, and an atomic plan that aborts is rolled back. Returns the
 * end, or why no serial run has this history.
 */
export function planModel(
  plan: PlanCase,
  { succeeded, isCancelled, stopped }: PlanHistory,
  before: Readonly<Record<string, string>>,
): PlanEnd | { readonly impossible: string } {
  const done = new Set<string>();
  const state: Record<string, string> = { ...before };
  const byId = new Map(plan.steps.map((step) => [step.id, step]));
  for (const id of succeeded) {
    const step = byId.get(id);
    if (step === undefined || done.has(id)) return { impossible: `${id} succeeded twice or is no step` };
    if (step.failures === Number.POSITIVE_INFINITY) return { impossible: `${id} succeeded, and its call always fails` };
    if (!step.needs.every((need) => done.has(need))) return { impossible: `${id} succeeded before its needs` };
    done.add(id);
    if (step.kind === "write") state[step.key] = id;
  }
  const aborts = stopped !== null;
  const expected = abortingSteps(plan);
  if (aborts && !expected.has(stopped)) return { impossible: `${stopped} ended the plan, and does not fail` };
  if (!aborts && !isCancelled && expected.size > 0) return { impossible: "a step that must end the plan did not" };
  if (!aborts && !isCancelled)
    for (const step of plan.steps)
      if (succeedsAlone(plan, step) !== done.has(step.id)) return { impossible: `${step.id} ran or not, unlike alone` };
  const rollsBack = plan.isAtomic && (aborts || isCancelled);
  return {
    status: endStatus(plan, done, { isCancelled, rollsBack }),
    steps: Object.fromEntries(plan.steps.map((step) => [step.id, endOfStep(step, done, rollsBack)])),
    state: rollsBack ? { ...before } : state,
    world: Object.fromEntries(
      plan.steps.flatMap((step) => {
        if (step.kind !== "act" || !done.has(step.id)) return [];
        return [[step.id, { done: 1, undone: Number(rollsBack && step.undo === "works") }] as const];
      }),
    ),
  };
}

/** Returns the steps that end the plan if nothing else does: their needs succeed, and they fail. */
function abortingSteps(plan: PlanCase): ReadonlySet<string> {
  const found = plan.steps.filter(
    (step) =>
      step.failures === Number.POSITIVE_INFINITY &&
      step.onFailure === "abort" &&
      step.needs.every((need) => succeedsAlone(plan, plan.steps.find(({ id }) => id === need) as CaseStep)),
  );
  return new Set(found.map(({ id }) => id));
}

function succeedsAlone(plan: PlanCase, step: CaseStep): boolean {
  if (step.failures === Number.POSITIVE_INFINITY) return false;
  return step.needs.every((need) => succeedsAlone(plan, plan.steps.find(({ id }) => id === need) as CaseStep));
}

/** A step that did not succeed has one of several ends, which depend on the moment of the abort: the model calls it "not done". */
function endOfStep(step: CaseStep, done: ReadonlySet<string>, rollsBack: boolean): string {
  if (!done.has(step.id)) return "not done";
  if (!rollsBack || step.kind !== "act" || step.undo === null) return "succeeded";
  return step.undo === "works" ? "compensated" : "compensation_failed";
}

function endStatus(
  plan: PlanCase,
  done: ReadonlySet<string>,
  { isCancelled, rollsBack }: { readonly isCancelled: boolean; readonly rollsBack: boolean },
): string {
  if (isCancelled) return "cancelled";
  if (rollsBack) return "failed";
  const isExcused = (step: CaseStep) => !done.has(step.id) && step.onFailure === "skip";
  if (plan.steps.every((step) => done.has(step.id) || isExcused(step))) return "completed";
  return done.size > 0 ? "partial" : "failed";
}
