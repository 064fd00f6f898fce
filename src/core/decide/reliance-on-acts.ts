import type { Call } from "../event/event.ts";
import type { VerifiedAct, VerifiedChange } from "../event/verified-act.ts";
import { stepKinds } from "../plan/step-kinds.ts";
import { findStep, type Run } from "../run/run.ts";
import { type Act, isUndoStep, type Step } from "../run/step.ts";
import type { Fault } from "../values/fault.ts";
import type { Instant, StepId } from "../values/ids.ts";
import { actFinding, confirmationFault, findingWithChanges } from "./act-finding.ts";
import type { CommandOf } from "./command.ts";
import { isApprovalValid } from "./find-approval.ts";
import { NO_CHANGE, type PartialDecision } from "./partial-decision.ts";

/** The rule that a gate or a rejection names if a verifier does not find a recorded act in the outside world. */
export const CONFIRMATION_RULE = "confirm";

/** Whether a step may rely on the recorded acts that it depends on. */
type Reliance =
  | { readonly kind: "rely" }
  /** Verifiers must confirm acts first. */
  | { readonly kind: "look" }
  | { readonly kind: "hold" | "refuse"; readonly fault: Fault };

type ConfirmableStep = Step & { readonly act: Act & { readonly confirm: NonNullable<Act["confirm"]> } };

const RELY: Reliance = { kind: "rely" };

/**
 * Decides whether a step may rely on the acts that it depends on. After the run is resumed, or continued by another
 * process, each act is confirmed once before the first step that relies on it. The strictest reaction applies.
 */
export function relianceOnActs(run: Run, step: Step, { loaded }: Pick<CommandOf<"start">, "loaded">): Reliance {
  if (!run.confirmations.wanted || isUndoStep(step) || !stepKinds[step.spec.kind].haltable) return RELY;
  const acts = reliedActs(run, step, loaded);
  if (acts.some(({ act }) => !isConfirmedSince(act, continuedAt(run, loaded)))) return { kind: "look" };
  let held: Fault | null = null;
  for (const { act, spec } of acts) {
    const failed = act.verified === null ? null : confirmationFault(spec.step_id, act.verified);
    if (failed === null || act.confirm === "warn") continue;
    if (act.confirm === "strict") return { kind: "refuse", fault: failed };
    held ??= failed;
  }
  return held === null ? RELY : { kind: "hold", fault: held };
}

/** Returns the acts that must be confirmed before the step may start. */
export function actsToConfirm(run: Run, step: Step, loaded: number): readonly StepId[] {
  const since = continuedAt(run, loaded);
  return reliedActs(run, step, loaded)
    .filter(({ act }) => !isConfirmedSince(act, since))
    .map(({ spec }) => spec.step_id);
}

/** Returns the position of the last resume or load of the run. Acts recorded up to it must be confirmed. */
function continuedAt({ confirmations }: Run, loaded: number): number {
  return Math.max(confirmations.resumed, loaded);
}

function isConfirmedSince({ receipt, verified }: Act, since: number): boolean {
  return (receipt !== null && receipt > since) || (verified !== null && verified.position > since);
}

/** Returns the recorded acts that a step depends on, also through other steps, and whose tools demand confirmation. */
function reliedActs(run: Run, step: Step, loaded: number): readonly ConfirmableStep[] {
  const found: ConfirmableStep[] = [];
  const seen = new Set<StepId>();
  const queue = [...dependenciesOf(step)];
  const checkedAfter = Math.max(continuedAt(run, loaded), run.confirmations.verified);
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    const needed = seen.has(id) ? undefined : findStep(run, id);
    seen.add(id);
    if (needed === undefined) continue;
    if (isConfirmable(needed)) found.push(needed);
    if (!wasStartedAfter(needed, checkedAfter)) queue.push(...dependenciesOf(needed));
  }
  return found;
}

function dependenciesOf({ spec, cause }: Step): readonly StepId[] {
  return cause?.by === "errand" ? [cause.of] : spec.depends_on;
}

function isConfirmable(step: Step): step is ConfirmableStep {
  return step.act?.state === "committed" && step.act.confirm !== null;
}

/** True if the start of the step has confirmed the acts that it relies on, so they need not be searched again. */
function wasStartedAfter({ spec, checkpoint }: Step, position: number): boolean {
  return stepKinds[spec.kind].haltable && checkpoint !== null && checkpoint.position > position;
}

/** True if a person has approved this call although an act that it relies on was not confirmed. */
export function isMismatchAccepted(run: Run, { spec }: Step, call: Call, now: Instant): boolean {
  for (const [, gate] of run.gates) {
    const approved = gate.status === "approved" || gate.status === "consumed";
    if (
      approved &&
      gate.rule === CONFIRMATION_RULE &&
      gate.step_id === spec.step_id &&
      isApprovalValid(gate, call, now)
    )
      return true;
  }
  return false;
}

/** Lists the recorded acts of a run, in the order of its steps. Their step may have failed for another reason. */
export function recordedActs(run: Run): readonly Step[] {
  return [...run.steps].filter(({ act }) => act?.state === "committed");
}

/** Records what verifiers found. An act that was undone meanwhile is left out. */
export function recordVerification(run: Run, { by, reason, seen, now }: CommandOf<"verify">): PartialDecision {
  const acts = seen.flatMap(({ step_id, sighting, changes = NONE }): readonly VerifiedAct[] => {
    const step = findStep(run, step_id);
    if (step?.act?.state !== "committed") return NONE;
    const recorded = step.act.changes;
    const verified = changes.flatMap((finding, index): readonly VerifiedChange[] => {
      const change = recorded[index];
      return change === undefined ? NONE : [{ change, ...finding }];
    });
    const act = { step_id, tool: step.spec.name, ...findingWithChanges(actFinding(sighting), verified) };
    return [verified.length === 0 ? act : { ...act, changes: verified }];
  });
  if (by === null && acts.length === 0) return NO_CHANGE;
  return { events: [{ type: "run.verified", at: now, by, reason, acts }] };
}

const NONE: readonly never[] = [];
