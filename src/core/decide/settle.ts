import { assert } from "../assert.ts";
import type { Ask, Found, Resolution } from "../command.ts";
import type { Event, InFlight, LedgerVersion, Settlement } from "../event.ts";
import { type Fault, fault } from "../fault.ts";
import type { Instant } from "../id.ts";
import type { Charged } from "../limits/charged.ts";
import { lean, type PlanStep } from "../plan/plan.ts";
import type { ToolFacts } from "../proposal.ts";
import { NOTHING, type Ruling } from "../ruling.ts";
import { findStep, type Run } from "../run.ts";
import { type Act, CALL_WITHIN_MS, isUndo, type Step, undoId } from "../step.ts";
import { forfeited } from "../trust.ts";
import { exitsOf, uncompensated, unknown, versionAfter, withUndo } from "./end.ts";
import { takenOver } from "./takeover.ts";
import { settlement } from "./toll.ts";

/** A new holder of the run looks at what the last one left under way. */
export function recover(run: Run, { found, taken, now }: Ask<"recover">): Ruling {
  const events = found.flatMap((item) => recovered(run, item, now));
  return { events: taken === null ? events : [...events, ...takenOver(run, taken, now)] };
}

function recovered(run: Run, { step_id, mark, tool }: Found, at: Instant): readonly Event[] {
  const step = findStep(run, step_id);
  assert(step !== undefined, "only a step of the run is recovered");
  if (step.standing.state === "waiting" && step.standing.on.for === "tool") {
    return tool === null ? [] : [{ type: "step.readied", at, step_id, why: "its tool is here" }];
  }
  if (step.standing.state === "in_doubt") return doubtedAnew(step, step.standing, tool, at);
  if (step.standing.state !== "running") return [];
  if (step.act === null) return [{ type: "step.readied", at, step_id, why: "its worker died" }];
  const ledger = next(step);
  if (mark === "no" && step.act.doubt === null) {
    const reason = "the send marker is missing: the tool was never called";
    const settled = { as: "not_done" } as const;
    return [{ type: "step.settled", at, step_id, settled, by: "marker", reason, ledger, ...givenBack(step, settled) }];
  }
  const cause = fault("OUTCOME_UNKNOWN", "its worker died after the call was let go");
  const exits = exitsOf(step, tool, step.act.sent_at, (at + CALL_WITHIN_MS) as Instant);
  return [{ type: "step.doubted", at, step_id, attempt: step.act.attempt, fault: unknown(step, cause), ledger, exits }];
}

/** The handler died with its worker, or the tool that can look is here now: what was known about the doubt no longer holds. */
function doubtedAnew(
  step: Step,
  { doubt, fault: why }: InDoubt,
  tool: ToolFacts | null,
  at: Instant,
): readonly Event[] {
  const { act, spec } = step;
  const canLook = tool?.verifies === true && !doubt.exits.verify;
  if (!doubt.alive && !canLook) return [];
  assert(act !== null, "only an act is in doubt");
  const exits = exitsOf(step, tool, act.sent_at, at);
  const { step_id } = spec;
  return [{ type: "step.doubted", at, step_id, attempt: act.attempt, fault: why, ledger: versionAfter(act), exits }];
}

type InDoubt = Extract<Step["standing"], { state: "in_doubt" }>;

function next(step: Step): LedgerVersion {
  assert(step.act !== null, "only an act has a ledger row");
  return versionAfter(step.act);
}

/** The row was lost to a later generation; from now on nothing of this act is written there. */
export function supersede(run: Run, { step_id, by, now }: Ask<"supersede">): Ruling {
  const act = findStep(run, step_id)?.act;
  if (act == null || act.superseded || by.generation <= act.generation) return NOTHING;
  return { events: [{ type: "step.superseded", at: now, step_id, by }] };
}

/** Settling without a person, in the order of the design: what a verifier saw, then what the declaration promises. */
export function settle(run: Run, { step_id, sighting, flaw, in_flight, now }: Ask<"settle">): Ruling {
  const step = findStep(run, step_id);
  assert(step !== undefined, "only a step of the run is settled");
  const { standing } = step;
  if (standing.state !== "in_doubt" || run.poison !== null) return NOTHING;
  const { exits, absent_at } = standing.doubt;
  const by = (settled: Settlement, who: string, reason: string, more: Pick<Settling, "sparing"> = {}): Ruling =>
    settling(run, step, settled, { by: who, reason, at: now, confirmed: true, ...more });
  if (sighting?.saw === "happened") {
    const flawed = isUndo(step) ? null : flaw; // Nobody builds on what an undo answers.
    const settled = { as: "happened", output: sighting.output, fault: flawed } as const;
    return by(settled, "verifier", "the verifier saw it", flawed === null ? {} : { sparing: in_flight });
  }
  if (sighting?.saw === "absent") {
    if (absent_at !== null && now >= exits.quiet_at)
      return by({ as: "absent" }, "verifier", "the verifier found it absent twice");
    const next_at = (absent_at === null && now >= exits.quiet_at ? now : exits.quiet_at) as Instant;
    return {
      events: [{ type: "step.probed", at: now, step_id, saw: "absent", why: "absent once proves nothing", next_at }],
    };
  }
  const again = resendAt(step, now);
  const may = exits.resend_until !== null && again < exits.resend_until && mayAct(run, step);
  if (may && again === now)
    return by({ as: "resend" }, "declaration", "the tool promises that the same key is harmless");
  const why = sighting?.why ?? (may ? "it was sent again not long ago" : "nobody here can tell");
  return { events: [{ type: "step.probed", at: now, step_id, saw: "unknown", why, next_at: may ? again : null }] };
}

/** At once, then ever more patiently: a world that does not answer is not asked all the time. Never before now. */
function resendAt({ act }: Step, now: Instant): Instant {
  if (act === null || act.sends === 1) return now; // Clocks may stand still, so that times tell nothing.
  const passed = act.started_at - act.sent_at;
  const pause = Math.min(RESEND_MS.most, Math.max(RESEND_MS.least, passed));
  return Math.max(now, act.started_at + pause) as Instant;
}

const RESEND_MS = { least: 1000, most: 60_000 };

/** A run that was cancelled or ended by a step sends nothing out any more, not even again. */
function mayAct(run: Run, step: Step): boolean {
  return isUndo(step) || (run.cancel === null && run.stopped === null);
}

interface Settling {
  readonly by: string;
  readonly reason: string;
  readonly at: Instant;
  /** Where this ends the plan: those that come to their own end. */
  readonly sparing?: InFlight;
  /** For an undo: the world was looked at. */
  readonly confirmed: boolean;
}

function settling(run: Run, step: Step, settled: Settlement, settling: Settling): Ruling {
  const { confirmed, ...how } = settling;
  const ledger = settled.as === "resend" ? null : next(step);
  const { step_id } = step.spec;
  const event = { type: "step.settled", step_id, settled, ledger, ...how, ...givenBack(step, settled) } as const;
  if (settled.as === "happened") return { events: withUndo(run, step, [event], confirmed) };
  if (settled.as !== "given_up" || step.cause?.by !== "undo") return { events: [event] };
  const { of } = step.cause; // Settling the doubt about an undo settles the act it undoes.
  const { by, at } = how;
  return { events: [event, uncompensated(run, of, fault("OUTCOME_UNKNOWN", `${by} gave up on undoing ${of}`), at)] };
}

/** What never happened cost nothing but what its handler said it did. */
function givenBack(step: Step, { as }: Settlement): { readonly charges?: readonly Charged[] } {
  if (as !== "not_done" && as !== "absent") return {};
  const charges = settlement(step, [], { cost: null, ms: 0, for: "nothing" });
  return charges.length === 0 ? {} : { charges };
}

/** A person says how it is. */
export function resolve(run: Run, command: Ask<"resolve">): Ruling {
  const { step_id, principal, verdict, attempt, reason, in_flight, now } = command;
  const step = findStep(run, step_id);
  if (step === undefined) return no(fault("STEP_NOT_FOUND", `run ${run.id} has no step ${step_id}`));
  if (verdict.as === "verify") return lookAgain(step, principal.id, now);
  if (principal.kind !== "person") {
    return no(fault("AUTH_FORBIDDEN", `${principal.kind} ${principal.id} cannot settle ${step_id}; only a person can`));
  }
  if (attempt !== null && attempt !== step.act?.attempt) {
    const message = `${step_id} was tried again since attempt ${attempt}, which is the one you looked at; look again`;
    return no(fault("NOT_POSSIBLE", message));
  }
  if (verdict.as === "undo") return undo(run, step, verdict, { by: principal.id, reason, at: now });
  if (!isOpen(step, verdict)) {
    const message = `${step_id} is ${step.standing.state}; only an act in doubt, or one whose answer did not fit, is settled by a person`;
    return no(fault("NOT_POSSIBLE", message));
  }
  if (verdict.as === "happened" && verdict.flaw !== null) return no(verdict.flaw);
  const ends = verdict.as === "give_up" ? { sparing: in_flight } : {};
  return settling(run, step, settlementOf(verdict), { by: principal.id, reason, at: now, confirmed: false, ...ends });
}

/** Whoever asks for it: a look settles nothing that the world does not. */
function lookAgain({ spec: { step_id }, standing }: Step, by: string, at: Instant): Ruling {
  if (standing.state !== "in_doubt")
    return no(fault("NOT_POSSIBLE", `${step_id} is ${standing.state}; only an act in doubt is looked at again`));
  const { exits, next } = standing.doubt;
  if (!exits.verify)
    return no(fault("NOT_POSSIBLE", `the tool of ${step_id} has no verifier; find out yourself, then say how it is`));
  if (next.do === "settle" || (next.do === "look_again" && next.at <= at)) return NOTHING; // It is about to be.
  return {
    events: [{ type: "step.probed", at, step_id, saw: "unknown", why: `${by} asked to look again`, next_at: at }],
  };
}

function isOpen({ standing, act }: Step, verdict: Resolution): boolean {
  if (standing.state === "in_doubt") return true;
  return verdict.as === "happened" && act?.state === "committed" && !act.usable;
}

function settlementOf(verdict: Exclude<Resolution, { as: "undo" | "verify" }>): Settlement {
  if (verdict.as === "happened") return { as: "happened", output: verdict.output, fault: null };
  return { as: verdict.as === "absent" ? "absent" : "given_up" };
}

function undo(
  run: Run,
  step: Step,
  { tool, record }: Extract<Resolution, { as: "undo" }>,
  who: { by: string; reason: string; at: Instant },
): Ruling {
  const impossible = cannotUndo(step, tool) ?? cannotAskAgain(run, step);
  if (impossible !== null) return no(impossible);
  const ledger = next(step);
  const { by, reason, at } = who;
  const step_id = undoId(step, ledger.generation);
  const again = run.index.has(step_id); // A failed undo that is asked for once more is the same step.
  const undone = { at, step_id: step.spec.step_id, by, reason, ledger, ...forfeited(record) };
  const events: Event[] = [{ type: "step.compensating", ...undone }];
  if (again) events.push({ type: "step.readied", at, step_id, why: `${by} asked again` });
  else
    events.push({
      type: "step.proposed",
      at,
      step_id,
      step: lean(undoStep(step, step_id)),
      pin: step.pin,
      cause: { by: "undo", of: step.spec.step_id, asked_by: by },
    });
  return { events };
}

function cannotUndo(
  { spec, standing, act, cause }: Step,
  tool: { readonly compensates: boolean; readonly safeIfAbsent: boolean } | null,
): Fault | null {
  if (cause?.by === "undo")
    return fault("NOT_POSSIBLE", `${spec.step_id} undoes ${cause.of} and cannot itself be undone; act anew instead`);
  if (tool === null || !tool.compensates)
    return fault("NOT_POSSIBLE", `${spec.name} declares no compensation; ${spec.step_id} cannot be undone here`);
  if (standing.state === "in_doubt" && !tool.safeIfAbsent) {
    return fault(
      "NOT_POSSIBLE",
      `${spec.step_id} is in doubt and undoing it is not declared safe if it never happened; settle the doubt first`,
    );
  }
  const undoable =
    standing.state === "in_doubt" || standing.state === "compensation_failed" || act?.state === "committed";
  return undoable ? null : fault("NOT_POSSIBLE", `${spec.step_id} is ${standing.state}; there is no act to undo`);
}

/** An undo is one act: where nobody knows whether it happened, asking again would be doing it again. */
function cannotAskAgain(run: Run, step: Step): Fault | null {
  const earlier = findStep(run, undoId(step, (step.act as Act).generation));
  if (earlier === undefined) return null;
  const { step_id } = earlier.spec;
  if (!isUndo(earlier))
    return fault("NOT_POSSIBLE", `the run has another step ${step_id}; undo ${step.spec.step_id} by hand`);
  if (earlier.act?.state !== "given_up") return null;
  return fault("NOT_POSSIBLE", `${step_id} was given up and may have happened; it is not done again by itself`);
}

function undoStep({ spec }: Step, step_id: PlanStep["step_id"]): PlanStep {
  const plain = {
    payload: {},
    bindings: {},
    depends_on: [],
    preconditions: [],
    outcome: null,
    state_reads: null,
    state_writes: null,
    idempotency_template: null,
  } as const;
  return {
    ...spec,
    ...plain,
    step_id,
    effect: "acts",
    gate: "none",
    on_failure: "skip",
  };
}

function no(refusal: Fault): Ruling {
  return { events: [], refusal };
}
