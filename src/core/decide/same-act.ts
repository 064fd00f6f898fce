import type { Verdict } from "../call/guard.ts";
import { getStep, type Run } from "../run/run.ts";
import type { Step } from "../run/step.ts";
import type { CommandOf } from "./command.ts";
import { findApproval } from "./find-approval.ts";
import type { PartialDecision } from "./partial-decision.ts";

/** Answers a call by the receipt of the earlier act that its approvers say it is. Null: they did not say so. */
export function answerBySameAct(
  run: Run,
  step: Step,
  { proposal, now }: CommandOf<"start">,
  verdict: Verdict,
): PartialDecision | null {
  const demand = verdict.kind === "hold" ? verdict.demand : null;
  const gate = proposal.call === null ? null : findApproval(run, step, proposal.call, demand, now);
  if (gate?.same_as === undefined || step.act !== null) return null;
  const earlier = getStep(run, { step_id: gate.same_as });
  if (earlier.act?.state !== "committed" || !earlier.act.usable) return null;
  const at = earlier.standing.state === "succeeded" ? earlier.standing.at : earlier.act.started_at;
  const differs = earlier.call?.digest === proposal.call?.digest ? null : "the earlier call had another input";
  const reused = { run: run.id, step: gate.same_as, at, differs };
  const event = { type: "step.succeeded", at: now, step_id: step.spec.step_id, attempt: step.attempts } as const;
  const output = { output: earlier.act.output, world: "side_effect_committed", reused } as const;
  return { events: [{ ...event, started_at: now, ...output, ...(verdict.basis && { basis: verdict.basis }) }] };
}
