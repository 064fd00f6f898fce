import { worst } from "../../core/effect.ts";
import { type Fault, fault } from "../../core/fault.ts";
import type { Instant } from "../../core/id.ts";
import type { Json } from "../../core/json/json.ts";
import { type Allowance, type Estimate, estimateProblems } from "../../core/limits/budget.ts";
import { tollsOf } from "../../core/limits/toll.ts";
import type { Proposal } from "../../core/proposal.ts";
import type { Run, Step } from "../../core/run.ts";
import type { Cost, Tool } from "../../core/tool.ts";
import type { Ports } from "../ports.ts";
import { textOf } from "./thrown.ts";

/** What a call is expected to spend; of an undo, nothing. */
export function estimateFor(step: Step, tool: Tool, input: Json): Estimated {
  if (step.cause?.by === "undo") return { estimate: {}, flaw: null };
  const known = estimateOf(tool, input);
  return known !== null && "code" in known ? { estimate: null, flaw: known } : { estimate: known, flaw: null };
}

type Estimated = Pick<Proposal, "estimate" | "flaw">;

/** The proposal with what limits ask for it at this moment, and what is already known of their tallies. */
export function priced(ports: Ports, run: Run, step: Step, proposal: Proposal, now: Instant): Proposal {
  const { tool, flaw } = proposal;
  const allowances = tool === null || flaw !== null ? [] : allowancesOf(ports, run, step, proposal, now);
  if (tool === null || allowances.length === 0) return proposal;
  // What does not leave this process costs nothing, unless it says so.
  const estimate = proposal.estimate ?? (tool.effect === "pure" || tool.effect === "writes" ? {} : null);
  const known = new Map(proposal.tolls.map(({ tally, used }) => [tally, used]));
  const tolls = tollsOf(allowances, run, { tool: step.spec.name, estimate }, now);
  return { ...proposal, tolls: tolls.map((toll) => ({ ...toll, used: known.get(toll.tally) ?? null })) };
}

/** What the tenant is under, and what rules of its policies limit the call. */
function allowancesOf(
  { tenants, policies }: Ports,
  run: Run,
  step: Step,
  proposal: Proposal,
  now: Instant,
): readonly Allowance[] {
  const allowance = tenants.allowance(run.tenant);
  const settings = allowance === null ? NONE : [allowance];
  const policy = policies.of(run);
  if (policy === null || policy.limits.length === 0 || proposal.tool === null) return settings;
  const effect = worst(step.spec.effect, proposal.tool.effect);
  return [...settings, ...policy.limitsFor({ run, step, proposal, effect, now, policy, closure: null })];
}

const NONE: readonly never[] = [];

function estimateOf(tool: Tool, input: Json): Estimate | Fault | null {
  if (tool.cost === null) return null;
  let problems: readonly string[];
  try {
    const estimate = tool.cost(input);
    problems = estimateProblems(estimate);
    if (problems.length === 0) return estimate;
  } catch (error) {
    problems = [textOf(error)];
  }
  return fault("TOOL_INVALID", `what ${tool.name} costs cannot be told: ${problems.join("; ")}; fix its cost`);
}

/** What a call has cost whose handler said nothing of it: what was expected. */
export function costExpected(estimate: Estimate | null): Cost | null {
  if (estimate === null) return null;
  const { usd_micros = 0, credits = 0, tokens_in = 0, tokens_out = 0 } = estimate;
  if (usd_micros + credits + tokens_in + tokens_out === 0) return null;
  return { usd_micros, credits, tokens_in, tokens_out, model: "" };
}

/** The proposal with what each of its tallies has come to. */
export async function withUsage({ store }: Ports, run: Run, proposal: Proposal): Promise<Proposal> {
  const tolls = await Promise.all(
    proposal.tolls.map(async (toll) =>
      toll.tally === null ? toll : { ...toll, used: await store.used(run.tenant, toll.tally) },
    ),
  );
  return { ...proposal, tolls };
}

/** The proposal with what one tally turned out to have come to. */
export function withUsed(proposal: Proposal, tally: string, used: number): Proposal {
  return { ...proposal, tolls: proposal.tolls.map((toll) => (toll.tally === tally ? { ...toll, used } : toll)) };
}
