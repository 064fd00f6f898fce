import type { Errand, Resolution } from "../../core/command.ts";
import type { InFlight } from "../../core/event.ts";
import { fault } from "../../core/fault.ts";
import type { StepId } from "../../core/id.ts";
import type { Plan, PlanStep } from "../../core/plan/plan.ts";
import type { ToolFacts } from "../../core/proposal.ts";
import type { Sighting } from "../../core/tool.ts";
import { given, type Move, pass, type Told } from "../given.ts";
import {
  addUp,
  ana,
  assertion,
  bob,
  claim,
  cost,
  keepNote,
  plan,
  readPage,
  robin,
  type StepWish,
  sendMail,
  step,
  wait,
} from "./cast.ts";
import * as story from "./moves.ts";

/** A story that nobody wrote: pairs of whole numbers choose a plan and then one move after another. */
export type Choice = readonly [what: number, how: number];

const undoable = { ...sendMail, compensates: true };
const tools: readonly ToolFacts[] = [
  addUp,
  readPage,
  keepNote,
  sendMail,
  { ...undoable, idempotentForMs: 600_000 },
  { ...undoable, verifies: true, safeIfAbsent: true },
  { ...undoable, errorsMean: "not_done", verifies: true, idempotentForMs: 120_000, safeIfAbsent: true },
];
const names = ["a", "b", "c", "d"] as const;

/** Four steps of any kind behind each other in any way, and perhaps a wait or an assertion. */
export function anyPlan(choices: readonly Choice[]): Plan {
  const steps = names.map((id, at) => anyStep(id, at, choices[at] ?? [0, 0]));
  const [last] = choices[names.length] ?? [0];
  if (last % 3 === 0) return plan(...steps);
  const more = last % 3 === 1 ? wait("e", { ms: 5000 }, { after: ["a"] }) : assertion("e", claim("a", "/id", "exists"));
  return plan(...steps, more);
}

function anyStep(id: string, at: number, [what, how]: Choice): PlanStep {
  const wish: StepWish = {
    tool: picked(tools, what),
    after: names.slice(0, at).filter((_, bit) => (how >> bit) % 3 === 1),
    on_failure: picked(["abort", "skip", "retry"] as const, how),
    on_rejected: picked(["stop", "continue"] as const, what),
    gate: how % 5 === 0 ? "human_confirm" : "none",
    retries: picked([null, 0, 2], what + how),
    timeout_ms: how % 7 === 0 ? 90_000 : null,
    outcome: how % 3 === 0 ? { type: "draft.mail", status: "draft" } : null,
  };
  return step(id, wish);
}

function picked<Item>(list: readonly Item[], by: number): Item {
  return list[by % list.length] as Item;
}

/** Accepts the plan and goes on as chosen; each command is shown to the witness with the story before and after it. */
export function wander(
  made: Plan,
  choices: readonly Choice[],
  witness: (before: Told, after: Told) => void = () => {},
): Told {
  const mode = choices.length % 3 === 0 ? "human_gated" : "auto_exec";
  const deadline = choices.length % 5 === 0 ? { deadline_at: (given().now + 500_000) as Told["now"] } : {};
  let told = given(story.accepts(made, { mode, ...deadline }));
  for (const [what, how] of choices) {
    const after = told.when(picked(movesNow(told, how), what));
    witness(told, after);
    told = after;
  }
  return told;
}

/** What could happen next: mostly what the run waits for, now and then what nobody expects. */
function movesNow(told: Told, how: number): readonly Move[] {
  const ids = Array.from(told.run.steps, ({ spec }) => spec.step_id as string);
  const whim = picked(ids, how);
  const time = pass(picked([10, 2000, 70_000, 200_000, 90_000_000], how));
  const life = how % 9 === 0 ? [story.cancels] : [];
  const again = told.run.ended === null ? [] : [story.resumes];
  return [
    time,
    ...life,
    ...again,
    story.delivers(`notice ${whim}`),
    ...ids.flatMap((id) => [...movesOf(told, id, how)]),
    ...(told.granted(whim) ? [anEnding(told, whim, how)] : []),
    story.undoes(whim),
  ];
}

function* movesOf(told: Told, id: string, how: number): Iterable<Move> {
  const { standing } = told.step(id);
  switch (standing.state) {
    case "ready":
    case "failed_retryable":
    case "waiting":
      yield aStart(told, id, how);
      if (isFlying(told, id)) yield* [anEnding(told, id, how), anEnding(told, id, how + 7)];
      if (how % 4 === 0) yield aRecovery(id, how);
      break;
    case "waiting_approval":
      yield* [story.approves(id), story.approves(id, picked([ana, bob, robin], how))];
      if (how % 3 === 0) yield aRefusal(told, id, how);
      break;
    case "running":
      yield* [anEnding(told, id, how), anEnding(told, id, how + 7)];
      if (how % 4 === 0) yield aRecovery(id, how);
      break;
    case "in_doubt":
      yield* [aSighting(told, id, how), aSighting(told, id, how + 1), story.undoes(id)];
      if (how % 3 === 0) yield aResolution(told, id, how);
      break;
    case "succeeded":
    case "compensation_failed":
      if (how % 3 === 0) yield story.undoes(id);
      break;
    case "failed_final":
      yield* [aResolution(told, id, how), story.undoes(id)];
      break;
  }
}

function aStart(told: Told, id: string, how: number): Move {
  const parked = how % 13 === 0 ? { parked: fault("TOOL_MISSING", "it is not here") } : {};
  const flaw = how % 17 === 0 ? { flaw: fault("INVALID_INPUT", "it does not fit") } : {};
  return story.starts(id, { inFlight: flying(told), ...parked, ...flaw });
}

function anEnding(told: Told, id: string, how: number): Move {
  const wish = { inFlight: flying(told), ...(how % 3 === 0 && { cost: cost(how) }), dice: (how % 10) / 10 };
  const notices = [{ notice_id: `notice ${id}`, topic: "mail", payload: null }];
  const ways: readonly (() => Move)[] = [
    () => story.answers(id, { id: how }, wish),
    () => story.goesUnheard(id, "TOOL_TIMEOUT", wish),
    () => story.answers(id, { id: how }, { ...wish, notices, errands: [errandOf(id)] }),
    () => story.saysNotDone(id, picked(["NETWORK_TIMEOUT", "INVALID_INPUT", "RATE_LIMIT"] as const, how), wish),
    () => story.answers(id, { id: how }, { ...wish, flaw: story.misshapen }),
    () => story.answers(id, { id: how }, wish),
    () => story.fails(id, picked(["RATE_LIMIT", "TOOL_FAILED"] as const, how), wish),
  ];
  return picked(ways, how >> 3)();
}

function aRecovery(id: string, how: number): Move {
  const gone = how % 5 === 0 ? { tool: null } : {};
  return story.recovers({ id, mark: picked(["yes", "no", "unknown"] as const, how), ...gone });
}

function aSighting(told: Told, id: string, how: number): Move {
  const sightings: readonly (Sighting | null)[] = [null, story.absent, story.absent, story.unclear, story.seen(null)];
  const flaw = how % 7 === 0 ? story.misshapen : null;
  return story.settles(id, picked(sightings, how >> 3), { flaw, in_flight: flying(told) as readonly StepId[] });
}

/** What is in flight, as whoever holds the run knows it, or nobody from outside. */
function inFlight(told: Told, how: number): InFlight {
  return how % 2 === 0 ? (flying(told) as readonly StepId[]) : "unknown";
}

function aRefusal(told: Told, id: string, how: number): Move {
  const in_flight = inFlight(told, how);
  return picked([story.rejects(id, ana, { in_flight }), story.expires(id, in_flight)], how);
}

function aResolution(told: Told, id: string, how: number): Move {
  const verdicts: readonly Resolution[] = [
    story.happened({ id: how }),
    { as: "absent" },
    { as: "give_up" },
    { as: "verify" },
  ];
  return story.resolves(id, picked(verdicts, how >> 3), ana, { in_flight: inFlight(told, how) });
}

function errandOf(of: string): Errand {
  const made = step(`${of}.1`, { tool: sendMail, on_failure: "skip", on_rejected: "continue" });
  return { step: made, pin: null, cause: { by: "errand", of: of as StepId } };
}

/** Steps that were granted without a record and may still have a handler. */
function flying(told: Told): readonly string[] {
  const ids = Array.from(told.run.steps, ({ spec }) => spec.step_id as string);
  return ids.filter((id) => isFlying(told, id));
}

function isFlying(told: Told, id: string): boolean {
  if (!told.granted(id)) return false;
  const { recorded, attempt } = told.grant(id);
  return !recorded && attempt === told.step(id).attempts + 1;
}
