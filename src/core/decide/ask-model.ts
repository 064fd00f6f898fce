import type { Event } from "../event/event.ts";
import { actsOf } from "../run/branch-acts.ts";
import { leftActsNotices, leftAgentNotices } from "../run/child-run-notices.ts";
import type { ModelLane } from "../run/conversation.ts";
import {
  commonMessages,
  continuesAnswer,
  findEqualRequest,
  isAfterAnswer,
  laneOf,
  modelRequestOf,
} from "../run/model-steps.ts";
import type { Run } from "../run/run.ts";
import type { Step } from "../run/step.ts";
import { assert } from "../values/assert.ts";
import { fault } from "../values/fault.ts";
import type { Instant } from "../values/ids.ts";
import type { CommandOf } from "./command.ts";
import { NO_CHANGE, type PartialDecision } from "./partial-decision.ts";
import { proposedEvents, runClosedFault } from "./proposed-events.ts";

type AskCommand = CommandOf<"ask_model">;

/**
 * Decides about a request to a model. The nth equal request of a turn is answered by the nth recorded answer. A request
 * that continues the conversation is a new call; any other one is a branch.
 */
export function askModel(run: Run, command: AskCommand): PartialDecision {
  const { call, nth, now } = command;
  const request = call.cause.model;
  assert(request !== undefined, "a model call is proposed with its request");
  const equal = findEqualRequest(run, request.lane, request.digest, nth);
  if (equal !== undefined) return askAgain(run, equal, command);
  if (!run.open) return { events: [], refusal: runClosedFault(run) };
  const lane = laneOf(run, request.lane);
  const other = lane.asked.map((index) => run.steps.get(index)).find((step) => isInFlight(step, command));
  if (other !== undefined) {
    const message = `lane ${request.lane} is asking the model another question (step ${other.spec.step_id}); wait for its answer, or use another lane`;
    return { events: [], refusal: fault("SESSION_BUSY", message, { step_id: other.spec.step_id }) };
  }
  const unanswered = lane.asked.map((index) => run.steps.get(index)).filter(isUnanswered);
  const withdrawn = unanswered.map((step) => cancelledEvent(step, now));
  return { events: [...withdrawn, ...branchEvents(run, lane, command), ...proposedEvents(call, now)] };
}

function isInFlight({ spec }: Step, { in_flight }: AskCommand): boolean {
  return in_flight.includes(spec.step_id);
}

/** True if no answer of the request is on record, and none comes: its process is gone, or its attempts failed. */
function isUnanswered({ standing }: Step): boolean {
  return standing.state !== "succeeded" && standing.state !== "cancelled";
}

function cancelledEvent({ spec: { step_id }, attempts: attempt }: Step, at: Instant): Event {
  return { type: "step.cancelled", at, step_id, attempt, started_at: at };
}

/** The recorded answer is handed over. A failed request, or one whose process is gone, gets its next attempt. */
function askAgain(run: Run, step: Step, command: AskCommand): PartialDecision {
  const { step_id } = step.spec;
  const why = isInFlight(step, command) ? null : reopeningOf(step);
  if (why === null) return NO_CHANGE;
  if (!run.open) return { events: [], refusal: runClosedFault(run) };
  return { events: [{ type: "step.readied", at: command.now, step_id, why }] };
}

function reopeningOf({ standing }: Step): string | null {
  switch (standing.state) {
    case "failed_final":
    case "rejected":
    case "cancelled":
      return "its caller asks again";
    case "waiting":
      return standing.on.for === "tool" ? "its caller runs it" : null;
    default:
      return null;
  }
}

/** Returns the event of a branch, if the request does not continue the recorded answers of its lane. */
function branchEvents(run: Run, lane: ModelLane, { call, messages, now: at }: AskCommand): readonly Event[] {
  const request = call.cause.model;
  const last = lane.answers.length === 0 ? null : lane.answers.get(lane.answers.length - 1);
  if (last === null || request === undefined || request.compacted) return [];
  const keep = commonMessages(lane, messages);
  if (continuesAnswer(last, messages, keep)) return [];
  const dropped = Array.from(lane.answers).filter((answer) => !continuesAnswer(answer, messages, keep));
  const from = Math.min(...dropped.map(({ index }) => index));
  const left = Array.from(run.steps).filter((step) => isAfterAnswer(run, step, request.lane, from));
  const acts = actsOf(run, left);
  // The same question once more in its turn is another sample, as long as nothing was done after the last answer.
  const isSample = lane.asked.includes(last.index) && isEqualRequest(run.steps.get(last.index), request.digest);
  if (isSample && acts.length === 0) return [];
  const steps = dropped.map(({ index }) => run.steps.get(index).spec.step_id);
  const branched = { type: "run.branched", at, lane: request.lane, keep, dropped: steps, acts } as const;
  const notices = [...leftAgentNotices(run, left), ...leftActsNotices(run, left)];
  return [notices.length === 0 ? branched : { ...branched, notices }];
}

function isEqualRequest(step: Step, digest: string): boolean {
  return modelRequestOf(step)?.digest === digest;
}
