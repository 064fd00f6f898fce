import type { Event } from "../event/event.ts";
import type { BranchId, LeftAct } from "../event/left-act.ts";
import type { ModelRequest } from "../event/model-call.ts";
import type { ReuseSource } from "../event/reuse-source.ts";
import type { ModelOutput } from "../model/model-content.ts";
import { storedContents, withoutContents } from "../model/stored-contents.ts";
import { type Vector, Vector as Vectors } from "../persistent/vector.ts";
import { leftActKey } from "../run/branch-acts.ts";
import { type Conversation, EMPTY_CONVERSATION, type ModelLane } from "../run/conversation.ts";
import { isAfterAnswer, laneOf, modelOutputOf, modelRequestOf } from "../run/model-steps.ts";
import { getStep, type MutableRun } from "../run/run.ts";
import { type Step, stepPace } from "../run/step.ts";
import { isIdleStep, replaceStep, withdrawStep } from "../run/step-transition.ts";
import type { Digest, StepId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";

type EventOf<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** Adds a proposed model call to its lane. */
export function applyModelProposed(run: MutableRun, step: Step, request: ModelRequest): MutableRun {
  const conversation = run.conversation ?? EMPTY_CONVERSATION;
  const lane = laneOf(run, request.lane);
  const history = appended(lane.history.take(request.keep), request.added);
  let { contents } = conversation;
  for (const [digest] of storedContents(step.spec.payload)) contents = contents.set(digest, true);
  run.conversation = { ...conversation, contents };
  return putLane(run, request.lane, {
    ...lane,
    asked: [...lane.asked, step.index],
    pending: [...lane.pending, { index: step.index, history }],
  });
}

function appended(base: Vector<Digest>, added: readonly Digest[]): Vector<Digest> {
  let all = base;
  for (const digest of added) all = all.push(digest);
  return all;
}

/** The answer of a model call is recorded. */
function applyModelAnswered(run: MutableRun, index: number, request: ModelRequest): MutableRun {
  const step = run.steps.get(index);
  const output = modelOutputOf(step) as ModelOutput;
  const lane = laneOf(run, request.lane);
  const asked = lane.pending.find((pending) => pending.index === index);
  trimStep(run, step, output);
  if (asked === undefined) return run; // Its turn is over, or it belongs to an old branch.
  const { length } = asked.history;
  const calls = output.calls.map(({ id }) => id);
  // The messages of a compacted request replace all answers before it.
  const answers = request.compacted
    ? Vectors.from(Array.from(lane.answers, (answer) => ({ ...answer, length, calls: NONE, answer_id: null })))
    : lane.answers;
  let { answered } = run.conversation as Conversation;
  for (const id of calls) answered = answered.set(id, index);
  run.conversation = { ...(run.conversation as Conversation), answered };
  return putLane(run, request.lane, {
    ...lane,
    history: asked.history,
    answers: answers.push({ index, length, calls, answer_id: output.answer_id }),
    pending: lane.pending.filter((pending) => pending !== asked),
  });
}

const NONE: readonly never[] = [];

/** Keeps in the folded run what decisions need. The contents are in the journal. */
function trimStep(run: MutableRun, step: Step, output: ModelOutput): void {
  const { standing } = step;
  if (standing.state !== "succeeded") return;
  const { calls, final, answer_id, bytes } = output;
  const kept = output.form === "omitted" ? output : { form: "stored", calls, final, answer_id, bytes };
  replaceStep(run, {
    ...step,
    spec: { ...step.spec, payload: withoutContents(step.spec.payload) },
    standing: { ...standing, output: kept as unknown as Json },
  });
}

function putLane(run: MutableRun, name: string, lane: ModelLane): MutableRun {
  const conversation = run.conversation ?? EMPTY_CONVERSATION;
  run.conversation = { ...conversation, lanes: conversation.lanes.set(name, lane) };
  return run;
}

/** Ends the unfinished turn of a lane, or of all lanes. Requests without an answer are cancelled. */
export function applyTurnFinished(run: MutableRun, { lane }: EventOf<"run.turn_finished">): MutableRun {
  const lanes = lane === null ? Array.from(run.conversation?.lanes ?? [], ([name]) => name) : [lane];
  for (const name of lanes) {
    const { turn, history, answers, pending } = laneOf(run, name);
    for (const { index } of pending) withdraw(run, run.steps.get(index));
    putLane(run, name, { turn: turn + 1, asked: NONE, history, answers, pending: NONE });
  }
  return run;
}

function withdraw(run: MutableRun, step: Step): void {
  if (isIdleStep(step)) withdrawStep(run, step, { state: "cancelled" });
}

/** Withdraws a left call. Its sub-agent is cancelled by now, so later events do not cancel it again. */
function leave(run: MutableRun, step: Step): void {
  withdraw(run, step);
  const left = getStep(run, step.spec);
  if (left.delegated !== null) replaceStep(run, { ...left, delegated: null });
}

/** Leaves the answers after the branch point behind, and withdraws the calls that they proposed and that have not started. */
export function applyBranched(run: MutableRun, event: EventOf<"run.branched">): MutableRun {
  const { turn, answers, history } = laneOf(run, event.lane);
  const dropped = new Set(event.dropped.map((step_id) => getStep(run, { step_id }).index));
  const from = Math.min(...dropped);
  const left = Array.from(run.steps).filter((step) => isAfterAnswer(run, step, event.lane, from));
  for (const step of left) leave(run, step);
  const conversation = run.conversation as Conversation;
  let { answered, branchActs, leftAgents, leftCalls } = conversation;
  const branch: BranchId = `${run.id}@${run.position}`;
  for (const [id, index] of answered) if (dropped.has(index)) answered = answered.delete(id);
  for (const step_id of event.acts) branchActs = branchActs.set(step_id, branch);
  for (const { delegated, spec } of left) {
    const { step_id } = spec;
    if (delegated !== null) leftAgents = leftAgents.set(delegated, { step_id, branch });
    if (stepPace(getStep(run, spec).standing) !== "done") leftCalls = leftCalls.set(step_id, true);
  }
  run.conversation = { ...conversation, answered, branchActs, leftAgents, leftCalls };
  leaveAnsweringActs(run, left, branch);
  return putLane(run, event.lane, {
    turn: turn + 1,
    asked: [],
    history: history.take(event.keep),
    answers: Vectors.from(Array.from(answers).filter(({ index }) => !dropped.has(index))),
    pending: [],
  });
}

/** An act of another run that answered a call of this branch holds later acts again. */
function leaveAnsweringActs(run: MutableRun, left: readonly Step[], branch: BranchId): void {
  const conversation = run.conversation as Conversation;
  let { leftActs } = conversation;
  const calls = new Set(left.map(({ spec }) => spec.step_id));
  for (const [key, act] of conversation.leftActs)
    if (act.answers !== null && calls.has(act.answers)) leftActs = leftActs.set(key, { ...act, branch, answers: null });
  run.conversation = { ...conversation, leftActs };
}

/** The acts of a sub-agent that a branch has left are known, so acts of their tools are held. */
export function applySubAgentLeft(run: MutableRun, { child, acts }: EventOf<"run.sub_agent_left">): MutableRun {
  const conversation = run.conversation as Conversation;
  run.conversation = { ...conversation, leftAgents: conversation.leftAgents.delete(child) };
  return addLeftActs(run, acts);
}

export function addLeftActs(run: MutableRun, acts: readonly LeftAct[]): MutableRun {
  if (acts.length === 0) return run;
  const conversation = run.conversation ?? EMPTY_CONVERSATION;
  let { leftActs } = conversation;
  for (const act of acts) leftActs = leftActs.set(leftActKey(act), { ...act, answers: null });
  run.conversation = { ...conversation, leftActs };
  return run;
}

/** An act of an old branch has answered a call. Later calls are not held because of this act. */
export function settleBranchAct(run: MutableRun, answers: StepId, reused: ReuseSource | undefined): MutableRun {
  const { conversation } = run;
  if (reused === undefined || conversation === null) return run;
  if (reused.run !== run.id) {
    const key = leftActKey({ run_id: reused.run, step_id: reused.step });
    const act = conversation.leftActs.get(key);
    if (act === undefined) return run;
    run.conversation = { ...conversation, leftActs: conversation.leftActs.set(key, { ...act, answers }) };
    return run;
  }
  run.conversation = { ...conversation, branchActs: conversation.branchActs.delete(reused.step) };
  return run;
}

/** Applies the success of a step to the conversation, if the step calls a model. */
export function followModelStep(run: MutableRun, { index }: Step): MutableRun {
  const request = modelRequestOf(run.steps.get(index));
  return request === null ? run : applyModelAnswered(run, index, request);
}
