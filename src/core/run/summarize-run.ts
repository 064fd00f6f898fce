import type { RunCost, WaitingFor } from "../store/tables.ts";
import type { Instant } from "../values/ids.ts";
import type { Run } from "./run.ts";
import type { RunSummary } from "./run-summary.ts";

/** The cost of a summary does not grow with the run. */
const TOOLS_MAX = 64;

/** Returns the summary of a run as it is. */
export function summarizeRun(run: Run, updated_at: Instant): RunSummary {
  return {
    updated_at,
    waiting_for: waitsOf(run),
    tools: toolsOf(run),
    steps: run.steps.length,
    succeeded: run.succeeded,
    done: run.paces.done,
    spent: costOf(run),
  };
}

function toolsOf({ plan, tools, called }: Run): readonly string[] {
  if (plan !== null) return Object.keys(tools).slice(0, TOOLS_MAX);
  const names: string[] = [];
  for (const [name] of called.tools) {
    if (names.length === TOOLS_MAX) break;
    names.push(name);
  }
  return names.sort();
}

function waitsOf({ ended, parked, listing: { waits } }: Run): readonly WaitingFor[] {
  if (ended !== null) return NONE;
  const kinds = (Object.keys(waits) as WaitingFor[]).filter((kind) => waits[kind] !== undefined);
  return (parked === null ? kinds : [...kinds, "release" as const]).sort();
}

const NONE: readonly never[] = [];

function costOf({ spent: { usd_micros, credits, tokens_in, tokens_out } }: Run): RunCost {
  return {
    ...(usd_micros > 0 && { usd_micros }),
    ...(credits > 0 && { credits }),
    ...(tokens_in > 0 && { tokens_in }),
    ...(tokens_out > 0 && { tokens_out }),
  };
}
