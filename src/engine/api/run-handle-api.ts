import type { Event } from "../../core/event/event.ts";
import type { RunResult } from "../../core/run/run-result.ts";
import type { TranscriptEntry } from "../../core/run/transcript.ts";
import type { RunId, StepId } from "../../core/values/ids.ts";
import type { BlobReference } from "../ports/output-as-plain-data.ts";
import type { SessionTurn } from "./open-run-api.ts";
import type { ReplayedStep } from "./replay-api.ts";
import type { StepChange } from "./state-api.ts";

/** The state of a run now, also while it still moves. */
export interface RunProgress extends RunResult {
  readonly running: boolean;
  /** False: part of it may not be on disk yet. It survives a crash of the process, but perhaps not of the machine. */
  readonly durable: boolean;
}

/** The ids by which the parts of a run are found in other systems. The journal stores them once, with the run. */
export interface TraceIds {
  readonly run_id: RunId;
  readonly plan_id: string | null;
  readonly correlation_id: string;
  readonly trace_id: string;
}

/** The ids of an event: of its step, and of the attempt of the step (`job_id`), if it is about one. */
export interface EventIds extends TraceIds {
  readonly step_id?: StepId;
  readonly job_id?: string;
}

/** One event with its position in the journal. */
export interface RecordedEvent {
  readonly position: number;
  readonly ids: EventIds;
  readonly event: Event;
  /** False: it may not be on disk yet. */
  readonly durable: boolean;
}

/** How long a caller waits for a run. */
export interface WaitOptions {
  /** Ends the wait, which then rejects with the reason of the signal. The run goes on. */
  readonly signal?: AbortSignal;
}

export interface RunHandle {
  readonly run_id: RunId;
  /** True: an earlier submission with the same request key is this run. */
  readonly attached: boolean;
  /** Resolves when the run can go no further by itself. */
  result(options?: WaitOptions): Promise<RunResult>;
  /** Resolves when the run has ended. */
  finished(options?: WaitOptions): Promise<RunResult>;
  /** Returns the current state without waiting. */
  now(): Promise<RunProgress>;
  /** Yields the events so far; with `follow`, also new ones until the run has ended. */
  events(options?: {
    readonly after?: number;
    readonly follow?: boolean;
    readonly signal?: AbortSignal;
  }): AsyncIterable<RecordedEvent>;
  /** Returns the calls of the run and their answers, in the order of the journal. */
  transcript(): Promise<readonly TranscriptEntry[]>;
  /** Returns the values that the calls of the run changed in the state, before and after each call. */
  changes(): Promise<readonly StepChange[]>;
  /**
   * Calls the handlers again that only compute (`pure`, and `writes` without resources): with the recorded input, time and
   * random numbers, on the state that they read. Compares the results with the record, and writes nothing.
   */
  replay(): Promise<readonly ReplayedStep[]>;
  /**
   * Returns the messages, the model's answers and the calls of an open run in the order in which they were proposed, also
   * of the earlier runs of its session, as far as they are not erased. A run with a plan has none.
   */
  turns(): Promise<readonly SessionTurn[]>;
  /** Returns the bytes that an output has a reference to. */
  blob(reference: BlobReference): Promise<Uint8Array>;
  cancel(options?: { readonly reason?: string }): Promise<void>;
}
