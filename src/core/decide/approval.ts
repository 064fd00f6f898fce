import { type Demand, isMet } from "../demand.ts";
import type { Call } from "../event.ts";
import type { Instant } from "../id.ts";
import { type Gate, pollOf, type Run } from "../run.ts";
import type { Step } from "../step.ts";

/** The yes to exactly this call, still good, of those whom what is asked now asks for. Null: nobody is asked for. */
export function approval(run: Run, step: Step, call: Call, demand: Demand | null, now: Instant): Gate | null {
  const gate = approvedGate(run, step);
  if (gate === null || !isGood(gate, call, now)) return null;
  return demand === null || isMet({ ...pollOf(run, gate), demand }, gate.votes) ? gate : null;
}

/** The yes that a step was given last, used by an attempt or not. */
export function approvedGate(run: Run, step: Step): Gate | null {
  const gate = step.gate === null ? undefined : run.gates.get(step.gate);
  return gate?.status === "approved" || gate?.status === "consumed" ? gate : null;
}

/** It was said of this very call, and not too long ago. */
export function isGood({ call: shown, use_by }: Gate, { digest }: Call, now: Instant): boolean {
  return shown.digest === digest && use_by !== null && now <= use_by;
}
