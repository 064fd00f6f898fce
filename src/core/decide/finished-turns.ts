import type { Event } from "../event/event.ts";
import { hasUnfinishedTurn, laneOf, modelOutputOf } from "../run/model-steps.ts";
import { findStep, type Run } from "../run/run.ts";
import type { Instant } from "../values/ids.ts";
import type { CommandOf, HandedOverAnswer } from "./command.ts";
import { NO_CHANGE, type PartialDecision } from "./partial-decision.ts";

/** Ends the turns whose last answers were handed over, or all turns when their caller ends them. */
export function finishTurns(run: Run, { answers, now: at }: CommandOf<"finish_turns">): PartialDecision {
  if (!run.open) return NO_CHANGE;
  if (answers !== "all") return { events: finishedTurns(run, answers, at) };
  return hasUnfinishedTurn(run) ? { events: [{ type: "run.turn_finished", at, lane: null }] } : NO_CHANGE;
}

/** The last answer finishes a turn. If the agent has asked the model again since, the turn continues. */
export function finishedTurns(run: Run, answers: readonly HandedOverAnswer[], at: Instant): readonly Event[] {
  return answers.flatMap(({ lane, step_id }) => {
    const step = findStep(run, step_id);
    if (step === undefined || laneOf(run, lane).asked.at(-1) !== step.index) return [];
    return modelOutputOf(step)?.final === true ? [{ type: "run.turn_finished" as const, at, lane }] : [];
  });
}
