import type { VoteTerms } from "../approval/approval-demand.ts";
import { type Gate, getStep, type Run } from "./run.ts";
import { requesterOf } from "./step-principal.ts";

/** Returns the facts that decide which votes count at a gate. */
export function gateVoteTerms(run: Run, gate: Gate): VoteTerms {
  return { demand: gate.demand, requester: requesterOf(run, getStep(run, gate)), opened_at: gate.opened_at };
}
