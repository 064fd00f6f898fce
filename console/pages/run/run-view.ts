import type { Event, EventType } from "../../../src/core/event/event.ts";
import { evolve } from "../../../src/core/evolve/evolve.ts";
import { explainDecision } from "../../../src/core/run/explained-decision.ts";
import { emptyRun, type Run, type Step } from "../../../src/core/run/run.ts";
import { type RunResult, runResult } from "../../../src/core/run/run-result.ts";
import type { StepStanding } from "../../../src/core/run/step.ts";
import { waitingFor } from "../../../src/core/run/waiting-for.ts";
import type { GateId, Instant, RunId, Tenant } from "../../../src/core/values/ids.ts";
import { foldGateEvent } from "./fold-gate-event.ts";
import { foldStepEvent } from "./fold-step-event.ts";
import { newStepHistory, type Phase, type PhaseKind, type StepHistory } from "./step-history.ts";

/** An event as the API sends it. */
export interface JournalEntry {
  readonly position: number;
  readonly event: Event;
}

/**
 * A run as its page shows it: the fold that the engine makes, and the history of each step. An event costs what it
 * changes.
 */
export class RunView {
  readonly run_id: RunId;
  readonly entries: JournalEntry[] = [];
  readonly #histories: StepHistory[] = [];
  readonly #stepOfGate = new Map<GateId, number>();
  /** The steps that are in a phase. */
  readonly #live = new Set<number>();
  #run: Run;

  constructor(run_id: string) {
    this.run_id = run_id as RunId;
    this.#run = emptyRun(this.run_id, "" as Tenant);
  }

  get run(): Run {
    return this.#run;
  }

  /** The last event that is part of the view. */
  get position(): number {
    return this.#run.position;
  }

  /** The time of the last event. */
  get updated_at(): Instant | null {
    return this.entries.at(-1)?.event.at ?? null;
  }

  /** The result as the API answers it, as of the last event. */
  result(): RunResult {
    return runResult(this.#run);
  }

  get length(): number {
    return this.#histories.length;
  }

  step(index: number): Step {
    return this.#run.steps.get(index);
  }

  history(index: number): StepHistory {
    return this.#histories[index] as StepHistory;
  }

  /** Returns the index of a step, or null if the run has no such step. */
  find(step_id: string): number | null {
    return this.#run.index.get(step_id) ?? null;
  }

  /** Returns the index of the step that a gate holds, or null. */
  stepOfGate(gate_id: string): number | null {
    return this.#stepOfGate.get(gate_id as GateId) ?? null;
  }

  /** Adds the next event, and returns the indices of the steps that it changed. An event that is known changes nothing. */
  add(entry: JournalEntry): ReadonlySet<number> {
    if (entry.position <= this.position) return NONE;
    const { event, position } = entry;
    const before = this.#run;
    const after = evolve(before, event);
    this.#run = after;
    this.entries.push(entry);
    for (let index = this.#histories.length; index < after.steps.length; index += 1)
      this.#histories.push(newStepHistory(event.at, after.steps.get(index).pin));
    const subject = this.#foldSubject(event, position);
    if (subject !== null) addUnrecordedStart(this.history(subject), event);
    const touched = new Set<number>(after.fresh);
    if (subject !== null) touched.add(subject);
    if (hasRippled(before, after, event)) for (const index of this.#rippled(event.type)) touched.add(index);
    for (const index of touched) this.#renewPhase(index, event);
    return touched;
  }

  /** Adds the event to the history of its step, and returns the index of this step. Null: it is about the run. */
  #foldSubject(event: Event, position: number): number | null {
    if (event.type === "gate.opened") {
      const held = this.find(event.step_id);
      if (held !== null) this.#stepOfGate.set(event.gate_id, held);
    }
    const index =
      "gate_id" in event ? this.stepOfGate(event.gate_id) : "step_id" in event ? this.find(event.step_id) : null;
    if (index === null) return null;
    const history = this.history(index);
    history.positions.push(position);
    if ("gate_id" in event) foldGateEvent(history, event);
    else if ("step_id" in event) foldStepEvent(history, event, position);
    const verdict = explainDecision(event);
    const gate_id = "gate_id" in event ? event.gate_id : null;
    if (verdict !== null) history.verdicts.push({ ...verdict, position, at: event.at, gate_id });
    return index;
  }

  /** The steps that an event about the whole run may have moved. Resuming moves steps that had ended. */
  #rippled(type: EventType): Iterable<number> {
    return type === "run.resumed" || type === "run.accepted" ? this.#histories.keys() : [...this.#live];
  }

  #renewPhase(index: number, event: Event): void {
    const history = this.history(index);
    const { standing } = this.step(index);
    history.revision += 1;
    const kind = phaseOf(standing);
    const waitsFor = kind === "waiting" ? waitingFor(standing) : null;
    const last = history.phases.at(-1);
    const lasts = last !== undefined && last.until === null && last.kind === kind && last.waitsFor === waitsFor;
    if (kind === "queued" && history.ready_at === null) history.ready_at = event.at;
    const hasEnded = kind === null && standing.state !== "pending";
    history.ended_at = hasEnded ? (history.ended_at ?? event.at) : null;
    if (lasts && event.type !== "step.started") return;
    closePhase(last, event.at);
    if (kind === null) this.#live.delete(index);
    else {
      this.#live.add(index);
      history.phases.push({ kind, from: event.at, until: null, waitsFor });
    }
  }
}

const NONE: ReadonlySet<number> = new Set();

/** Inserts the execution that only the event of its end tells. */
function addUnrecordedStart({ phases }: StepHistory, event: Event): void {
  if (!("started_at" in event)) return;
  const last = phases.at(-1);
  if (last?.kind === "running" && last.until === null) return;
  const from = Math.max(event.started_at, last?.from ?? 0) as Instant;
  closePhase(last, from);
  phases.push({ kind: "running", from, until: null, waitsFor: null });
}

function closePhase(phase: Phase | undefined, at: Instant): void {
  if (phase?.until === null) phase.until = Math.max(at, phase.from) as Instant;
}

/** True if the event may have moved steps that it does not name. */
function hasRippled(before: Run, after: Run, { type }: Event): boolean {
  return (
    before.stopped !== after.stopped ||
    before.cancel !== after.cancel ||
    before.ended !== after.ended ||
    before.open !== after.open ||
    before.replanning !== after.replanning ||
    before.conversation !== after.conversation ||
    type === "run.resumed" ||
    type === "run.accepted"
  );
}

function phaseOf(standing: StepStanding): PhaseKind | null {
  switch (standing.state) {
    case "ready":
      return "queued";
    case "running":
      return "running";
    case "waiting_approval":
      return "person";
    case "waiting":
      return "waiting";
    case "failed_retryable":
      return "retrying";
    case "in_doubt":
      return "doubt";
    case "compensating":
      return "undoing";
    case "pending":
    case "succeeded":
    case "failed_final":
    case "rejected":
    case "skipped":
    case "cancelled":
    case "compensated":
    case "compensation_failed":
      return null;
    default:
      return standing satisfies never;
  }
}
