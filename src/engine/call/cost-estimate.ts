import { callLimits } from "../../core/call/counted-limits.ts";
import type { Proposal } from "../../core/call/proposal.ts";
import { type CostEstimate, estimateProblems, type LimitSet, submissionLimits } from "../../core/limits/budget.ts";
import type { Run, Step } from "../../core/run/run.ts";
import type { Cost, Tool } from "../../core/tool/tool.ts";
import { worseEffect } from "../../core/values/effect.ts";
import { type Fault, fault } from "../../core/values/fault.ts";
import type { Instant } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";
import { errorText } from "../ports/thrown-fault.ts";
import type { CallPorts } from "./call-ports.ts";

/** Returns the estimated cost of a call. An undo costs nothing. */
export function estimateCost(step: Step, tool: Tool, input: Json): EstimateResult {
  if (step.cause?.by === "undo") return { estimate: {}, flaw: null };
  const known = readToolEstimate(tool, input);
  return known !== null && "code" in known ? { estimate: null, flaw: known } : { estimate: known, flaw: null };
}

type EstimateResult = Pick<Proposal, "estimate" | "flaw">;

/** Returns the proposal with the limits that apply to it now, and the usage that is already known. */
export function withCallLimits(ports: CallPorts, run: Run, step: Step, proposal: Proposal, now: Instant): Proposal {
  const { tool, flaw } = proposal;
  const allowances = tool === null || flaw !== null ? [] : allowancesForCall(ports, run, step, proposal, now);
  if (tool === null || allowances.length === 0) return proposal;
  // A call that stays in this process costs nothing, unless its tool declares a cost.
  const estimate = proposal.estimate ?? (tool.effect === "pure" || tool.effect === "writes" ? {} : null);
  const known = new Map(proposal.limits.map(({ tally, used }) => [tally, used]));
  const limits = callLimits(allowances, run, { tool: step.spec.name, estimate }, now);
  return { ...proposal, limits: limits.map((limit) => ({ ...limit, used: known.get(limit.tally) ?? null })) };
}

/** Returns the limits of the tenant, of the submission, and of the policies that apply to the call. */
function allowancesForCall(
  { tenants, policies }: CallPorts,
  run: Run,
  step: Step,
  proposal: Proposal,
  now: Instant,
): readonly LimitSet[] {
  const allowance = tenants.allowance(run.tenant);
  const { budgets } = run.terms;
  const own = allowance === null ? NONE : [allowance];
  const settings = budgets === null ? own : [...own, submissionLimits(budgets)];
  const policy = policies.of(run);
  if (policy === null || policy.limits.length === 0 || proposal.tool === null) return settings;
  const effect = worseEffect(step.spec.effect, proposal.tool.effect);
  return [
    ...settings,
    ...policy.limitsFor({ run, step, proposal, effect, now, policy, closure: null, conditions: NONE }),
  ];
}

const NONE: readonly never[] = [];

function readToolEstimate(tool: Tool, input: Json): CostEstimate | Fault | null {
  if (tool.cost === null) return null;
  let problems: readonly string[];
  try {
    const estimate = tool.cost(input);
    problems = estimateProblems(estimate);
    if (problems.length === 0) return estimate;
  } catch (error) {
    problems = [errorText(error)];
  }
  return fault("TOOL_INVALID", `the cost function of ${tool.name} failed: ${problems.join("; ")}; fix the function`);
}

/** Returns the cost of a call whose handler reports none: the estimate. */
export function expectedCost(estimate: CostEstimate | null): Cost | null {
  if (estimate === null) return null;
  const { usd_micros = 0, credits = 0, tokens_in = 0, tokens_out = 0 } = estimate;
  if (usd_micros + credits + tokens_in + tokens_out === 0) return null;
  return { usd_micros, credits, tokens_in, tokens_out, model: "" };
}

/** Returns the proposal with the current usage of each tally. */
export async function withTallyUsage({ store }: CallPorts, run: Run, proposal: Proposal): Promise<Proposal> {
  const limits = await Promise.all(
    proposal.limits.map(async (limit) =>
      limit.tally === null ? limit : { ...limit, used: await store.used(run.tenant, limit.tally) },
    ),
  );
  return { ...proposal, limits };
}

/** Returns the proposal with the current usage of one tally. */
export function withOneTallyUsage(proposal: Proposal, tally: string, used: number): Proposal {
  return { ...proposal, limits: proposal.limits.map((limit) => (limit.tally === tally ? { ...limit, used } : limit)) };
}
