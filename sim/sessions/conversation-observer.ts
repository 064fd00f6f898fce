import type { Event } from "../../src/core/event/event.ts";
import { modelRequestOf } from "../../src/core/run/model-steps.ts";
import { findStep, type Run } from "../../src/core/run/run.ts";
import { isUndoStep, type Step, stepPace } from "../../src/core/run/step.ts";
import type { RunId, StepId } from "../../src/core/values/ids.ts";
import type { SessionContext } from "./session-context.ts";
import type { SimMessage } from "./sim-model.ts";

/** A request as the loop made it, and its answer as the model gave it. */
interface ModelQuestion {
  readonly run: RunId;
  readonly step: StepId;
  readonly lane: string;
  readonly messages: readonly SimMessage[];
  /** The number of finished turns and branches of its lane before it. */
  readonly epoch: number;
  answer: SimMessage | null;
  isRecorded: boolean;
  /** True: the conversation has left the answer by a branch. */
  isLeft: boolean;
}

/** The answer that a handle of a session was given to one request. */
export interface HandedAnswer {
  readonly run: RunId;
  readonly step: StepId;
  readonly lane: string;
  readonly messages: readonly SimMessage[];
  readonly text: string;
  readonly isFinal: boolean;
  readonly isReplayed: boolean;
  /** The number of finished turns and branches of the lane when the request was made. */
  readonly since: number;
}

/** The conversation of one run, as its events tell it. */
interface Conversation {
  readonly epochs: Map<string, number>;
  readonly questions: ModelQuestion[];
  /** Acts of branches that the conversation has left, and that have answered no call since. */
  readonly left: Set<StepId>;
  /** The requests that made a branch. */
  readonly afterBranch: Set<StepId>;
  readonly epochOf: Map<StepId, number>;
  readonly handedOver: Set<StepId>;
  /** The answers that the last event left, until the request that left them is proposed. */
  branching: ReadonlySet<StepId> | null;
  /** The acts that have answered a call since the last branch. */
  readonly reused: Set<StepId>;
}

function newConversation(): Conversation {
  return {
    epochs: new Map(),
    questions: [],
    left: new Set(),
    afterBranch: new Set(),
    epochOf: new Map(),
    handedOver: new Set(),
    branching: null,
    reused: new Set(),
  };
}

/** Checks what the model is asked, what loops are given, and what a branch holds. */
export class ConversationObserver {
  readonly #sim: () => SessionContext;
  readonly #conversations = new Map<RunId, Conversation>();
  readonly #cut = new Set<string>();
  /** By process and lane, the question that the model is asked now. */
  readonly #asking = new Map<string, StepId>();
  /** By request that made a branch, the answers that it left. */
  readonly #leftBy = new Map<string, ReadonlySet<StepId>>();

  constructor(sim: () => SessionContext) {
    this.#sim = sim;
  }

  #of(run: RunId): Conversation {
    const known = this.#conversations.get(run) ?? newConversation();
    this.#conversations.set(run, known);
    return known;
  }

  epochOf(run: RunId, lane: string): number {
    return this.#of(run).epochs.get(lane) ?? 0;
  }

  /** A process asks the model for a step. */
  onAsked(run: RunId, step: StepId, lane: string, messages: readonly SimMessage[], process: number): () => void {
    const { violate, observer } = this.#sim();
    const { questions, epochOf } = this.#of(run);
    this.#cut.delete(`${run}/${step}`);
    const folded = observer.find(run, step);
    if (folded === undefined || stepPace(folded.standing) === "done")
      violate(`S18: the model is asked for ${step}, which is ${folded?.standing.state ?? "not on record"}`);
    const at = `${process}/${run}/${lane}`;
    if (this.#asking.has(at)) violate(`S18: the model is asked for ${step} beside ${this.#asking.get(at)}`);
    this.#asking.set(at, step);
    const end = () => void this.#asking.delete(at);
    if (questions.some((question) => question.step === step)) return end;
    const epoch = epochOf.get(step) ?? 0;
    const question = { run, step, lane, messages, epoch, answer: null, isRecorded: false, isLeft: false };
    this.#checkBranch(question, folded);
    questions.push(question);
    return end;
  }

  onAnswered(run: RunId, step: StepId, answer: SimMessage): void {
    const question = this.#of(run).questions.find((each) => each.step === step);
    if (question !== undefined && !question.isRecorded) question.answer = answer;
  }

  /** The last answer of the model for a step is cut before its end. */
  onCut(run: RunId, step: StepId): void {
    this.#cut.add(`${run}/${step}`);
  }

  /** A request branches if and only if it does not continue the last recorded answer of its lane. */
  #checkBranch(question: ModelQuestion, folded: Step | undefined): void {
    const { violate, counts } = this.#sim();
    const { questions, afterBranch } = this.#of(question.run);
    const isBranch = afterBranch.has(question.step);
    if (isBranch) counts.branches += 1;
    // The answers that were recorded before the question was proposed. A branch has left some of them meanwhile.
    const earlier = questions.filter(
      ({ lane, isRecorded, step }) => lane === question.lane && isRecorded && indexOf(step) < indexOf(question.step),
    );
    const before = earlier.filter(({ isLeft, step }) => !isLeft || this.#wasLeftBy(question, step));
    const last = before.at(-1);
    if (last === undefined || folded === undefined) return;
    const continues = continuesQuestion(last, question.messages);
    if (continues && isBranch) violate(`S21: ${question.step} continues ${last.step} and is a branch`);
    const isSample = last.epoch === question.epoch && isEqual(last.messages, question.messages);
    if (!continues && !isBranch && !isSample)
      violate(`S21: ${question.step} does not continue ${last.step}, and no branch is on record`);
  }

  #wasLeftBy({ run, step }: ModelQuestion, left: StepId): boolean {
    return this.#leftBy.get(`${run}/${step}`)?.has(left) ?? false;
  }

  /** A loop was given an answer. Its start has been given the others before. */
  onHandedOver(handed: HandedAnswer, earlier: readonly HandedAnswer[]): void {
    const { violate, counts } = this.#sim();
    const { questions, epochOf, handedOver } = this.#of(handed.run);
    const question = questions.find(({ step }) => step === handed.step);
    if (question === undefined) {
      violate(`S19: ${handed.step} was handed over, and the model was never asked`);
      return;
    }
    handedOver.add(handed.step);
    if (handed.isReplayed) counts.modelReplayed += 1;
    if (!question.isRecorded) violate(`S19: the answer of ${handed.step} was handed over before it is on record`);
    if (question.answer?.content !== handed.text)
      violate(`S19: ${handed.step} was answered ${String(question.answer?.content)}, and replayed as ${handed.text}`);
    if (!isEqual(question.messages, handed.messages)) violate(`S19: ${handed.step} answers another request`);
    const epoch = epochOf.get(handed.step) ?? 0;
    if (handed.isReplayed && epoch < handed.since) violate(`S19: ${handed.step} of a finished turn is replayed`);
    const equal = questions.filter(
      (each) => each.lane === handed.lane && each.epoch === epoch && isEqual(each.messages, handed.messages),
    );
    const nth = earlier.filter(
      (each) =>
        each.run === handed.run &&
        each.lane === handed.lane &&
        (epochOf.get(each.step) ?? 0) === epoch &&
        isEqual(each.messages, handed.messages),
    ).length;
    if (equal[nth]?.step !== handed.step)
      violate(`S20: request ${nth + 1} of its kind got ${handed.step}, and not ${equal[nth]?.step}`);
  }

  /** An event was appended to a run. */
  onEvent(event: Event, before: Run, after: Run): void {
    if (event.type === "step.proposed") this.#onProposed(event, before);
    if (event.type === "run.branched") this.#onBranched(event, before);
    if (event.type === "run.turn_finished") this.#onTurnFinished(event, before);
    if (event.type === "step.started") this.#onStarted(event, before);
    if (event.type === "gate.opened") this.#onHeld(event, before);
    if (event.type === "step.succeeded") this.#onSucceeded(event, after);
  }

  #onProposed(event: Extract<Event, { type: "step.proposed" }>, { id }: Run): void {
    if (event.cause.by !== "agent" || event.cause.model === undefined) return;
    const { lane } = event.cause.model;
    const conversation = this.#of(id);
    conversation.epochOf.set(event.step_id, this.epochOf(id, lane));
    if (conversation.branching === null) return;
    conversation.afterBranch.add(event.step_id);
    this.#leftBy.set(`${id}/${event.step_id}`, conversation.branching);
    conversation.branching = null;
  }

  #onBranched(event: Extract<Event, { type: "run.branched" }>, run: Run): void {
    const { violate, counts } = this.#sim();
    const conversation = this.#of(run.id);
    this.#advance(run.id, event.lane);
    conversation.branching = new Set(event.dropped);
    conversation.reused.clear();
    for (const question of conversation.questions) if (event.dropped.includes(question.step)) question.isLeft = true;
    const from = Math.min(...event.dropped.map((step) => findStep(run, step)?.index ?? Number.POSITIVE_INFINITY));
    for (const step of run.steps) {
      if (step.index <= from || event.lane !== "main") continue;
      const { standing, spec } = step;
      const source = standing.state === "succeeded" && standing.reused?.run === run.id ? standing.reused.step : null;
      const act = source ?? (mayHaveActed(step) ? spec.step_id : null);
      if (act !== null && !event.acts.includes(act as StepId))
        violate(`S22: the branch does not know that ${act} may have acted for ${spec.step_id}`);
    }
    for (const id of event.acts) conversation.left.add(id);
    counts.leftActs += event.acts.length;
  }

  #onTurnFinished({ lane }: Extract<Event, { type: "run.turn_finished" }>, run: Run): void {
    const conversation = this.#of(run.id);
    const lanes = lane === null ? [...conversation.epochs.keys(), "main", "title"] : [lane];
    if (lane !== null) {
      const last = conversation.questions.findLast((question) => question.lane === lane && !question.isLeft);
      if (last === undefined || !conversation.handedOver.has(last.step))
        this.#sim().violate(`S26: the turn of ${last?.step} is finished before its answer was handed over`);
    }
    for (const each of new Set(lanes)) this.#advance(run.id, each);
  }

  #advance(run: RunId, lane: string): void {
    const { epochs } = this.#of(run);
    epochs.set(lane, 1 + (epochs.get(lane) ?? 0));
  }

  /** An act whose tool may have acted in a branch that was left starts only with an approval of its own. */
  #onStarted(event: Extract<Event, { type: "step.started" }>, run: Run): void {
    const { violate } = this.#sim();
    const step = findStep(run, event.step_id);
    if (step === undefined || isUndoStep(step)) return;
    const { questions } = this.#of(run.id);
    const turn = step.cause?.by === "agent" ? step.cause.call?.turn : undefined;
    const answer = questions.find((question) => `answer:${question.step}` === turn);
    if (answer?.isLeft && step.attempts === 0)
      violate(`S25: ${event.step_id} starts, and its answer ${answer.step} was left by a branch`);
    if (step.spec.effect !== "acts") return;
    const reason = this.#leftAct(run, step);
    const isApproved = Array.from(run.gates).some(
      ([, gate]) => gate.step_id === event.step_id && (gate.status === "approved" || gate.status === "consumed"),
    );
    if (reason !== undefined && !isApproved)
      violate(`S23: ${event.step_id} starts without approval after a branch that left ${reason.spec.step_id}`);
  }

  /** Returns an act of the tool of a step in a branch that was left, unless that act has answered a call since. */
  #leftAct(run: Run, step: Step): Step | undefined {
    const acts = [...this.#of(run.id).left].flatMap((id) => findStep(run, id) ?? []);
    return acts.find((act) => act.index !== step.index && act.spec.name === step.spec.name && mayHaveActed(act));
  }

  /** A branch holds no call without a reason. */
  #onHeld(event: Extract<Event, { type: "gate.opened" }>, run: Run): void {
    const step = findStep(run, event.step_id);
    if (event.rule !== "fork_acts" || step === undefined || this.#leftAct(run, step) !== undefined) return;
    if (!this.#sim().families.holdsFor(run, step))
      this.#sim().violate(`S30: ${event.step_id} is held for a branch that left no act of ${step.spec.name}`);
  }

  #onSucceeded(event: Extract<Event, { type: "step.succeeded" }>, run: Run): void {
    const { violate, counts } = this.#sim();
    const conversation = this.#of(run.id);
    const step = findStep(run, event.step_id);
    if (event.reused?.run === run.id) {
      const source = event.reused.step as StepId;
      if (conversation.reused.has(source)) violate(`S24: ${source} answers a second call of one branch`);
      conversation.reused.add(source);
      conversation.left.delete(source);
      counts.sameActs += 1;
    }
    if (step === undefined || modelRequestOf(step) === null) return;
    if (this.#cut.has(`${run.id}/${event.step_id}`))
      violate(`S27: a stream that was cut is recorded as the answer of ${event.step_id}`);
    const question = conversation.questions.find((each) => each.step === event.step_id);
    if (question !== undefined) question.isRecorded = true;
  }
}

function indexOf(step: StepId): number {
  return Number(step.match(/\d+$/)?.[0]);
}

function isEqual(left: readonly SimMessage[], right: readonly SimMessage[]): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** True if the messages begin with those of the question and then repeat the calls of its answer. */
function continuesQuestion({ messages, answer }: ModelQuestion, next: readonly SimMessage[]): boolean {
  if (next.length <= messages.length || !isEqual(next.slice(0, messages.length), messages)) return false;
  const said = new Set(next.slice(messages.length).flatMap(callIds));
  return answer === null || callIds(answer).every((id) => said.has(id));
}

function callIds({ tool_calls = [] }: SimMessage): readonly string[] {
  return (tool_calls as readonly { readonly id: string }[]).map(({ id }) => id);
}

const didNothing: readonly string[] = ["not_done", "absent", "compensated"];

function mayHaveActed({ act }: Step): boolean {
  return act !== null && !didNothing.includes(act.state);
}
