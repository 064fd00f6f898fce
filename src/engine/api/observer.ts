import type { Event } from "../../core/event/event.ts";
import type { Cost } from "../../core/tool/tool.ts";
import type { Effect } from "../../core/values/effect.ts";
import type { Fault } from "../../core/values/fault.ts";
import type { RunId, StepId, Tenant } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";

/** An event of a run, after this process has appended it. */
export interface AppendedEvent {
  readonly tenant: Tenant;
  readonly run_id: RunId;
  readonly position: number;
  readonly event: Event;
  /** The tool of the step or gate that the event is about, or null. */
  readonly tool: string | null;
  readonly trace_id: string;
  /** False: a power cut can still lose the event. */
  readonly durable: boolean;
}

/** An attempt whose handler is about to be called. */
export interface ObservedCall {
  readonly tenant: Tenant;
  readonly run_id: RunId;
  readonly step_id: StepId;
  readonly attempt: number;
  /** The id that a model gave the call, or null. */
  readonly call_id: string | null;
  readonly tool: string;
  /** The model that the call asks, as its request names it; null for any other call. */
  readonly model: string | null;
  readonly effect: Effect;
  readonly input: Json;
  /** The key that the tool passes on; null for a call that does not act. */
  readonly key: string | null;
  /** The verdict of the guards: the call may be made, or a person had to approve it, and did. */
  readonly verdict: "allow" | "hold";
  /** The rule behind the verdict: the one that held the call, or the first of a policy that allowed it; null: none. */
  readonly rule: string | null;
  /** The gate whose approval the call uses, or null. */
  readonly gate_id: string | null;
  /** The id of the principal that asked for the run. */
  readonly principal: string;
  readonly project: string | null;
  readonly session: string | null;
  readonly correlation_id: string;
  /** From the proposal of the call, or else from the run. */
  readonly trace_id: string;
}

/** The trace that an observer gives to the attempt that it surrounds. */
export interface GivenTrace {
  /** The W3C trace context of its span. The handler passes it on. */
  readonly traceparent?: string;
}

/** An append of this process. */
export interface TimedAppend {
  readonly tenant: Tenant;
  readonly run_id: RunId;
  /** The number of its events. */
  readonly events: number;
  /** The time from the sending to the answer of the store, with a sync if it was one. */
  readonly ms: number;
}

/** How an attempt ended. `unknown`: it timed out or was aborted, so an act may or may not have happened. */
export interface CallEnd {
  readonly status: "succeeded" | "failed" | "unknown";
  /** The output, with the fields redacted that the tool names; null without one. */
  readonly output: Json;
  readonly fault: Fault | null;
  /** The cost that the attempt reported, or null. */
  readonly cost: Cost | null;
}

/**
 * Watches an engine, for traces, metrics and logs. An observer changes nothing: an error that it throws is counted, and
 * the call and the run go on as without it.
 */
export interface Observer {
  /** A name for messages. */
  readonly name: string;
  /** Is called after each append of this process, in the order of each run. */
  onEvent?(appended: AppendedEvent): void;
  /** Is called after each append of this process to the journal of a run. */
  onAppend?(append: TimedAppend): void;
  /**
   * Is called when a handler starts, and when a host begins the work of a call. `start` starts it, in the async context
   * of the caller, and resolves when the attempt ends. The handler starts once, also if the observer never calls `start`.
   */
  aroundCall?(call: ObservedCall, start: (given?: GivenTrace) => Promise<CallEnd>): Promise<void> | void;
}

/** How often an observer has thrown. */
export interface ObserverReport {
  readonly name: string;
  readonly errors: number;
  /** The text of the latest error, or null. */
  readonly latest: string | null;
}
