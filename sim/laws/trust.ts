import type { Event } from "../../src/core/event.ts";
import type { Charged } from "../../src/core/limits/charged.ts";
import { findStep, type Gate, type Run, type Step } from "../../src/core/run.ts";
import type { Fact } from "../record.ts";

type Of<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** I24: what somebody has earned is what the record tells, one call at a time, and all of it is lost at once. */
export function judgeTrust(fact: Fact): void {
  const { scene, event } = fact;
  if (scene.rules === null) return;
  for (const { tally, amount } of ("charges" in event && event.charges) || [])
    if (isTrust({ tally })) scene.credit.add(fact.before.tenant, tally, amount);
  switch (event.type) {
    case "step.succeeded":
      earned(fact, event);
      break;
    case "step.failed":
      if (trustIn(event.charges) !== 0)
        scene.violate(`I24: ${fact.before.id} ${event.step_id} failed, and earned trust`);
      break;
    case "gate.rejected":
      lost(fact, fact.before.gates.get(event.gate_id) as Gate, event.charges);
      break;
    case "step.compensating":
      lost(fact, event, event.charges);
      break;
  }
}

function isTrust({ tally }: Pick<Charged, "tally">): boolean {
  return tally.startsWith("trust/");
}

function trustIn(charges: readonly Charged[] | undefined): number {
  return (charges ?? []).filter(isTrust).reduce((sum, { amount }) => sum + amount, 0);
}

function trustTallyOf({ principal }: Run, { spec }: Step): string {
  return `trust/${spec.name}/${principal.id}`;
}

/** An act that somebody else approved, and that ended well. */
function earned({ scene, kept, before }: Fact, event: Of<"step.succeeded">): void {
  const step = findStep(before, event.step_id) as Step;
  const ballot = step.gate === null ? undefined : kept.ballots.get(step.gate);
  const approved = ballot?.casts.some(({ by }) => by !== before.principal.id) === true;
  const earns = scene.rules?.earning.tools.includes(step.spec.name) === true && step.cause?.by !== "undo";
  const due = event.ledger !== undefined && approved && earns ? 1 : 0;
  const got = trustIn(event.charges);
  if (got > 0) scene.counts.trustEarned += 1;
  if (got !== due) scene.violate(`I24: ${before.id} ${event.step_id} earned ${got}, due were ${due}`);
}

/** As much as whoever says so had read. */
function lost(
  { scene, before, writer }: Fact,
  of: { readonly step_id: Step["spec"]["step_id"] },
  charges: Of<"gate.rejected">["charges"],
): void {
  const tally = trustTallyOf(before, findStep(before, of.step_id) as Step);
  const got = -trustIn(charges);
  if (got > 0) scene.counts.trustLost += 1;
  const told = scene.credit.toldTo(writer, before.tenant, tally);
  if (told.size > 0 && !told.has(got) && (got > 0 || [...told].every((value) => value > 0)))
    scene.violate(`I24: ${before.id} ${of.step_id} cost ${got} of ${tally}; its worker was told of ${[...told]}`);
}

/** Why what was started on earned trust should not have been; null: it was earned, and not lost since. */
export function wrongTrust({ scene, before }: Fact, step: Step): string | null {
  const { rules, credit } = scene;
  if (rules?.earning.tools.includes(step.spec.name) !== true) return "nothing is earned with it";
  const earned = credit.earned(before.tenant, trustTallyOf(before, step));
  if (earned < rules.earning.after) return `${earned} of ${rules.earning.after} were earned`;
  scene.counts.trusted += 1;
  return null;
}
