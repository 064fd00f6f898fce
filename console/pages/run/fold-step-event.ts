import type { StepEvent } from "../../../src/core/event/event.ts";
import type { Instant } from "../../../src/core/values/ids.ts";
import type { Attempt, StepHistory } from "./step-history.ts";

type TimedStepEvent = StepEvent & { readonly at: Instant };
type EventOf<Type extends StepEvent["type"]> = Extract<TimedStepEvent, { readonly type: Type }>;
type EndEvent = EventOf<"step.succeeded" | "step.failed" | "step.cancelled">;

type FoldTable = {
  readonly [Type in StepEvent["type"]]: ((history: StepHistory, event: EventOf<Type>, position: number) => void) | null;
};

/** How each event changes the history of its step. Null: only the state of the step tells it. */
const folds: FoldTable = {
  "step.proposed": (history, { pin }) => void Object.assign(history, { pin }),
  "step.started": foldStart,
  "step.succeeded": (history, event, position) => {
    history.output = event.output;
    history.hasOutput = true;
    history.warning = event.warning ?? null;
    foldEnd(history, event, position);
  },
  "step.failed": (history, event, position) => {
    if (event.output !== undefined) Object.assign(history, { output: event.output, hasOutput: true });
    foldEnd(history, event, position);
  },
  "step.cancelled": foldEnd,
  "step.doubted": foldDoubt,
  "step.probed": (history, { at, saw, why }, position) => {
    history.doubts.push({ at, position, text: `verified: ${saw}, ${why}`, evidence: null });
  },
  "step.settled": foldSettlement,
  "evidence.kept": (history, { at, evidence }, position) => {
    history.doubts.push({ at, position, text: "an answer arrived too late", evidence });
  },
  "step.restoring": foldRestoring,
  "step.restored": (history, { restored }, position) => changeLastAttempt(history, position, { restored }),
  "step.rejected": (history, { basis }) => {
    history.basis = basis ?? null;
  },
  "step.delegated": (history, { run_id }) => {
    history.delegated = run_id;
  },
  "step.readied": null,
  "step.parked": null,
  "step.compensating": null,
  "step.compensated": null,
  "step.uncompensated": null,
  "step.superseded": null,
  "step.delivered": null,
};

/** Adds an event of a step to its history. A new type of event does not compile until the table has it. */
export function foldStepEvent(history: StepHistory, event: TimedStepEvent, position: number): void {
  const fold = folds[event.type] as FoldTable["step.cancelled"];
  fold?.(history, event as EventOf<"step.cancelled">, position);
}

function foldStart(history: StepHistory, event: EventOf<"step.started">, position: number): void {
  const { attempt, call, captures = [], worker = null, external, basis, at } = event;
  history.input = call.input;
  history.call = call;
  history.basis = basis ?? history.basis;
  history.attempts.push({ ...newAttempt(attempt, at, position), worker, captures, external: external !== undefined });
}

function foldEnd(history: StepHistory, event: EndEvent, position: number): void {
  const attempt = findAttempt(history, event, position);
  attempt.ended_at = event.at;
  attempt.last = position;
  attempt.cost = event.cost ?? null;
  attempt.reported_by = event.reported_by ?? null;
  history.basis = event.basis ?? history.basis;
  attempt.outcome = "cancelled";
  if (event.type === "step.cancelled") return;
  history.external = event.changes ?? [];
  if (event.input !== undefined) history.input = event.input;
  if (event.type === "step.failed")
    Object.assign(attempt, {
      outcome: "failed",
      fault: event.fault,
      retry_at: event.retry_at,
      heartbeat: event.heartbeat ?? null,
    });
  else {
    attempt.outcome = "succeeded";
    for (const { notice_id, topic, payload } of event.notices ?? [])
      history.notices.push({ notice_id, topic, payload });
  }
  const files = event.type === "step.succeeded" ? (event.closings ?? []) : [];
  if (event.state === undefined && files.length === 0) return;
  history.changes.push({ position, attempt: event.attempt, at: event.at, state: event.state ?? null, files });
}

/** A step without side effects has no event of its start: the event of its end tells when it started. */
function findAttempt(history: StepHistory, { attempt, started_at }: EndEvent, position: number): Attempt {
  const last = history.attempts.at(-1);
  if (last?.number === attempt) return last;
  const made = newAttempt(attempt, started_at, position);
  history.attempts.push(made);
  return made;
}

function foldDoubt(history: StepHistory, event: EventOf<"step.doubted">, position: number): void {
  const { attempt, at, fault, cost, heartbeat = null, reported_by = null } = event;
  if (history.attempts.at(-1)?.number !== attempt) history.attempts.push(newAttempt(attempt, at, position));
  history.external = event.changes ?? [];
  const change = { outcome: "in doubt", ended_at: at, fault, heartbeat, reported_by, ...(cost && { cost }) } as const;
  changeLastAttempt(history, position, change);
}

function foldSettlement(history: StepHistory, event: EventOf<"step.settled">, position: number): void {
  const { settled, by, reason, at } = event;
  const text = `${settled.as.replace("_", " ")}, by ${by}${reason === "" ? "" : `: ${reason}`}`;
  history.doubts.push({ at, position, text, evidence: null });
  if (settled.as === "happened") Object.assign(history, { output: settled.output, hasOutput: true });
}

function foldRestoring(history: StepHistory, event: EventOf<"step.restoring">, position: number): void {
  if (history.attempts.at(-1)?.number !== event.attempt)
    history.attempts.push(newAttempt(event.attempt, event.at, position));
  changeLastAttempt(history, position, { outcome: "restoring", fault: event.fault });
}

function changeLastAttempt(history: StepHistory, last: number, change: Partial<Attempt>): void {
  const attempt = history.attempts.at(-1);
  if (attempt !== undefined) Object.assign(attempt, { ...change, last });
}

function newAttempt(number: number, started_at: Instant, position: number): Attempt {
  return {
    number,
    started_at,
    ended_at: null,
    outcome: "running",
    fault: null,
    retry_at: null,
    cost: null,
    worker: null,
    external: false,
    reported_by: null,
    heartbeat: null,
    captures: [],
    restored: [],
    first: position,
    last: position,
  };
}
