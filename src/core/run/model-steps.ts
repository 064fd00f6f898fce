import type { ModelRequest } from "../event/model-call.ts";
import type { CallName } from "../event/session.ts";
import type { ModelOutput } from "../model/model-content.ts";
import { emptyVector } from "../persistent/vector.ts";
import type { PlanStep } from "../plan/plan.ts";
import type { Digest, StepId } from "../values/ids.ts";
import { isJsonObject } from "../values/json.ts";
import type { ModelLane, RecordedAnswer } from "./conversation.ts";
import { findStep, type Run } from "./run.ts";
import { errandOrigin } from "./starts-no-more.ts";
import type { Step } from "./step.ts";

const EMPTY_LANE: ModelLane = { turn: 1, asked: [], history: emptyVector(), answers: emptyVector(), pending: [] };

export function laneOf({ conversation }: Pick<Run, "conversation">, lane: string): ModelLane {
  return conversation?.lanes.get(lane) ?? EMPTY_LANE;
}

/** Returns the request of a step that calls a model, or null for any other step. */
export function modelRequestOf({ cause }: Step): ModelRequest | null {
  return (cause?.by === "agent" ? cause.model : undefined) ?? null;
}

/** Returns the name of the model that a step asks; empty if its request names none. Null: the step asks no model. */
export function askedModel({ spec }: { readonly spec: Pick<PlanStep, "kind" | "payload"> }): string | null {
  if (spec.kind !== "model") return null;
  const { fields } = spec.payload;
  return isJsonObject(fields) && typeof fields.model === "string" ? fields.model : "";
}

/** Returns the key of the function that a caller passes with a model call. A lane has one request at a time. */
export function modelCallKey({ lane, digest }: Pick<ModelRequest, "lane" | "digest">): string {
  return JSON.stringify(["model", lane, digest]);
}

/** True if a lane has an unfinished turn: its answers are replayed to the next start of the loop. */
export function hasUnfinishedTurn({ conversation }: Run): boolean {
  return Array.from(conversation?.lanes ?? []).some(([, { asked }]) => asked.length > 0);
}

/** Returns the recorded answer of a model call, or null if it has none. */
export function modelOutputOf({ standing }: Step): ModelOutput | null {
  return standing.state === "succeeded" ? (standing.output as unknown as ModelOutput) : null;
}

/**
 * Returns the step of the nth equal request of the unfinished turn whose answer can be handed over, or undefined. A
 * request that got no answer before another one was answered is not asked again under its old step: it does not continue
 * that answer.
 */
export function findEqualRequest(run: Run, lane: string, digest: Digest, nth: number): Step | undefined {
  const { asked, answers } = laneOf(run, lane);
  const last = answers.length === 0 ? -1 : answers.get(answers.length - 1).index;
  const equal = asked
    .map((index) => run.steps.get(index))
    .filter((step) => modelRequestOf(step)?.digest === digest)
    .filter((step) => {
      const output = modelOutputOf(step);
      return output === null ? step.index > last : output.form !== "omitted";
    });
  return equal[nth - 1];
}

/** A message of a request: its digest, and the tool calls that it repeats from an earlier answer. */
export interface MessageFact {
  readonly digest: Digest;
  readonly calls: readonly string[];
}

/** Returns all messages of a request. Where the provider keeps the history, the id of the last answer replaces it. */
export function wholeMessages(
  { answers, history }: ModelLane,
  messages: readonly MessageFact[],
  follows: string | null,
): readonly MessageFact[] {
  if (follows === null) return messages;
  const mark = { digest: answerMark(follows), calls: [] };
  for (let at = answers.length - 1; at >= 0; at -= 1) {
    const { answer_id, length } = answers.get(at);
    if (answer_id !== follows) continue;
    return [...Array.from(history.take(length), (digest) => ({ digest, calls: [] })), mark, ...messages];
  }
  return [mark, ...messages];
}

function answerMark(answer_id: string): Digest {
  return `answer:${answer_id}` as Digest;
}

/** Returns how many messages at the start of the list are those of the last answered request. */
export function commonMessages({ history }: ModelLane, messages: readonly MessageFact[]): number {
  const most = Math.min(history.length, messages.length);
  let same = 0;
  for (const digest of history) {
    if (same === most || messages[same]?.digest !== digest) break;
    same += 1;
  }
  return same;
}

/** True if the messages contain those of the answered request and then its answer. */
export function continuesAnswer(
  { length, calls, answer_id }: RecordedAnswer,
  messages: readonly MessageFact[],
  common: number,
): boolean {
  if (common < length || messages.length <= length) return false;
  if (answer_id !== null && messages[length]?.digest === answerMark(answer_id)) return true;
  const repeated = new Set(messages.slice(length).flatMap((message) => message.calls));
  return calls.every((id) => repeated.has(id));
}

const ANSWER_TURN = "answer:";

/** The turn of a tool call is the recorded answer that contains it. */
export function answerTurn(step_id: StepId): string {
  return `${ANSWER_TURN}${step_id}`;
}

/** Returns the model call whose recorded answer contains a call of this name, or undefined. */
export function answerStep(run: Run, { turn }: CallName): Step | undefined {
  return turn?.startsWith(ANSWER_TURN) ? findStep(run, turn.slice(ANSWER_TURN.length) as StepId) : undefined;
}

/**
 * True if the step belongs to the conversation of the lane after a model call: it is not of another lane. An errand
 * counts where the call that asked for it counts.
 */
export function isAfterAnswer(run: Run, step: Step, lane: string, from: number): boolean {
  const origin = errandOrigin(run, step);
  const { index, cause } = origin;
  if (index <= from || cause?.by !== "agent") return false;
  const own = modelRequestOf(origin);
  if (own !== null) return own.lane === lane;
  const answer = cause.call === undefined ? undefined : answerStep(run, cause.call);
  const request = answer === undefined ? null : modelRequestOf(answer);
  return request === null || request.lane === lane;
}
