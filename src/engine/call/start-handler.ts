import type { HandlerResult } from "../../core/decide/handler-result.ts";
import { seededRandom } from "../../core/persistent/seeded-random.ts";
import type { Tool, ToolContext } from "../../core/tool/tool.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, RunId, StepId } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";
import { endingOfThrown } from "../ports/thrown-fault.ts";
import { traceParentOf, traceParentText } from "../ports/trace-parent.ts";
import type { CapturedResources } from "../resources/resource-registry.ts";
import type { AttemptState } from "../state/attempt-state.ts";
import { AttemptLog, type AttemptReport, type CostTerms } from "./attempt-report.ts";
import type { CallPorts } from "./call-ports.ts";
import { readOutput } from "./read-output.ts";
import { type SnapshotPlace, snapshotForCall } from "./snapshot-for-call.ts";
import type { TimeLimit } from "./time-limit.ts";

export interface HandlerWork extends TimeLimit {
  readonly tool: Tool;
  readonly handler: (context: ToolContext) => unknown;
  readonly context: Omit<
    ToolContext,
    | "clock"
    | "cost"
    | "errand"
    | "changed"
    | "child"
    | "notice"
    | "heartbeat"
    | "signal"
    | "traceparent"
    | "slice"
    | "dispatch"
    | "resource"
    | "random"
    | "snapshot"
  >;
  /** Where the state of the call is. */
  readonly place: SnapshotPlace;
  /** Null: the engine has no slices. */
  readonly state: HandlerState | null;
  /** Null: the tool changes no resource. */
  readonly captured: CapturedResources | null;
  /** False: the output is not checked against the output schema, because it is that of a compensation. */
  readonly checksOutput: boolean;
  /** Null: the handler may not report a cost, because it runs for a preview. */
  readonly costTerms: CostTerms | null;
  /** The trace context that an observer gives. Null: it is derived from the trace id. */
  readonly traceparent: string | null;
}

/** The state as a handler uses it. */
export type HandlerState = Pick<AttemptState, "slice" | "dispatch" | "snapshotSlices" | "reads">;

/** A handler that runs, and the attempt that waits for it. */
export interface RunningHandler {
  /** Resolves when the attempt ends: with an output, an error, a timeout or an abort. */
  readonly ended: Promise<AttemptReport>;
  /** True if the attempt has ended and the handler still runs. */
  readonly overdue: boolean;
  abort(why: Fault): void;
  /** Passes the signal to an act whose tool stops safely. The attempt goes on until the handler ends. */
  stopAct(why: Fault): void;
}

/** The owner of a running handler. Neither method is called before `startHandler` has returned. */
export interface HandlerListener {
  /** The attempt has ended, though its handler may still run. */
  onEnd(): void;
  /** The handler has returned. `late`: its report, if the attempt had ended before. */
  onReturn(late: AttemptReport | null): void;
}

/** Starts a handler. Never throws: every error becomes the end of the attempt. */
export function startHandler(ports: CallPorts, work: HandlerWork, listener: HandlerListener): RunningHandler {
  const attempt = new HandlerAttempt(ports, work, listener);
  attempt.begin();
  return attempt;
}

const noop = (): void => {};

class HandlerAttempt implements RunningHandler {
  readonly ended: Promise<AttemptReport>;
  readonly #ports: CallPorts;
  readonly #work: HandlerWork;
  readonly #listener: HandlerListener;
  readonly #log: AttemptLog;
  /** Made when the handler first reads its signal; most never do. */
  #controller: AbortController | null = null;
  #aborted: FaultError | null = null;
  /** The reason with which the signal of an act was aborted while its attempt went on. */
  #stopped: FaultError | null = null;
  #resolve: (execution: AttemptReport) => void = noop;
  #clearTimeout = noop;
  #clearHeartbeat = noop;
  /** By the stopwatch, because the clock can jump. */
  #lastHeartbeatAt = 0;
  #hasEnded = false;
  #hasReturned = false;

  constructor(ports: CallPorts, work: HandlerWork, listener: HandlerListener) {
    this.#ports = ports;
    this.#work = work;
    this.#listener = listener;
    this.#log = new AttemptLog(ports.limits, work.costTerms);
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get overdue(): boolean {
    return this.#hasEnded && !this.#hasReturned;
  }

  begin(): void {
    const { tool, timeoutMs } = this.#work;
    this.#clearTimeout = this.#ports.timers.after(timeoutMs, () => this.abort(timeoutFault(this.#work)));
    if (tool.heartbeatMs !== null) {
      this.#lastHeartbeatAt = this.#ports.stopwatch();
      this.#watchHeartbeat(tool.heartbeatMs);
    }
    void this.#call();
  }

  heartbeat(details: Json | undefined): void {
    this.#lastHeartbeatAt = this.#ports.stopwatch();
    this.#log.beat(details);
  }

  /** Sets one timer at a time, however often the handler sends a heartbeat. */
  #watchHeartbeat(ms: number): void {
    const { stopwatch, timers } = this.#ports;
    const check = () => {
      if (stopwatch() - this.#lastHeartbeatAt < ms) return this.#watchHeartbeat(ms);
      return this.abort(fault("TOOL_TIMEOUT", `${this.#work.tool.name} sent no heartbeat for ${ms} ms`));
    };
    this.#clearHeartbeat = timers.after(Math.max(1, Math.ceil(this.#lastHeartbeatAt + ms - stopwatch())), check);
  }

  abort(why: Fault): void {
    if (!this.#hasEnded) this.#end({ how: "unheard", fault: why });
    this.#aborted ??= new FaultError(why);
    this.#controller?.abort(this.#aborted);
  }

  stopAct(why: Fault): void {
    if (this.#work.tool.abort !== "safe") return;
    this.#stopped ??= new FaultError(why);
    this.#controller?.abort(this.#stopped);
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      const reason = this.#stopped ?? this.#aborted;
      if (reason !== null) this.#controller.abort(reason);
    }
    return this.#controller.signal;
  }

  async #call(): Promise<void> {
    let value: unknown;
    let failure: HandlerResult | null = null;
    try {
      value = await this.#work.handler(new HandlerContext(this.#work, this, this.#log, this.#ports));
    } catch (error) {
      failure = this.#failure(error);
    }
    const ending = failure ?? readOutput(this.#ports, this.#work, value);
    const late = this.#hasEnded;
    this.#hasReturned = true;
    if (!late) this.#end(ending);
    this.#listener.onReturn(late ? this.#log.reportWith(ending) : null);
  }

  /** An error of the log says nothing about what the tool had done by then. */
  #failure(error: unknown): HandlerResult {
    const { refusal } = this.#log;
    if (this.#stopped !== null && error === this.#stopped) return { how: "not_done", fault: this.#stopped.fault };
    return refusal !== null && error === refusal ? { how: "unheard", fault: refusal.fault } : endingOfThrown(error);
  }

  #end(ending: HandlerResult): void {
    this.#hasEnded = true;
    this.#clearTimeout();
    this.#clearHeartbeat();
    this.#listener.onEnd();
    this.#resolve(this.#log.reportWith(ending));
  }
}

/**
 * The context of a handler. `signal` and `traceparent` are own properties, so that a copy of the context has them. All
 * contexts share their getters: a literal with a getter makes one per object, which takes five times as long and three
 * times the memory.
 */
class HandlerContext implements ToolContext {
  static readonly #lazy: PropertyDescriptorMap & ThisType<HandlerContext> = {
    signal: {
      enumerable: true,
      get() {
        return this.#attempt.signal;
      },
    },
    traceparent: {
      enumerable: true,
      get() {
        return this.#traceparent ?? traceParentText(traceParentOf(this));
      },
    },
  };

  readonly key: ToolContext["key"];
  readonly run_id: RunId;
  readonly plan_id: string | null;
  readonly step_id: StepId;
  readonly attempt: number;
  readonly correlation_id: string;
  readonly trace_id: string;
  declare readonly signal: AbortSignal;
  declare readonly traceparent: string;
  readonly now: Instant;
  readonly clock: ToolContext["clock"];
  readonly last_heartbeat: Json | null;
  readonly heartbeat: ToolContext["heartbeat"];
  readonly cost: ToolContext["cost"];
  readonly errand: ToolContext["errand"];
  readonly child: ToolContext["child"];
  readonly notice: ToolContext["notice"];
  readonly changed: ToolContext["changed"];
  readonly slice: ToolContext["slice"];
  readonly dispatch: ToolContext["dispatch"];
  readonly resource: ToolContext["resource"];
  readonly random: ToolContext["random"];
  readonly snapshot: ToolContext["snapshot"];
  readonly #attempt: HandlerAttempt;
  readonly #traceparent: string | null;

  constructor(work: HandlerWork, attempt: HandlerAttempt, log: AttemptLog, ports: CallPorts) {
    const { tool, context: given, state, captured, traceparent } = work;
    const { clock, seed } = ports;
    this.key = given.key;
    this.run_id = given.run_id;
    this.plan_id = given.plan_id;
    this.step_id = given.step_id;
    this.attempt = given.attempt;
    this.correlation_id = given.correlation_id;
    this.trace_id = given.trace_id;
    this.now = given.now;
    this.clock = clock;
    this.last_heartbeat = given.last_heartbeat;
    this.heartbeat = (details) => attempt.heartbeat(details);
    this.cost = (spent) => log.addCost(spent);
    this.errand = (name, payload) => log.addErrand({ kind: "operator", name, payload });
    this.child = (plan, context = {}) => log.addErrand({ kind: "run", name: "run", payload: { plan, context } });
    this.notice = (topic, payload) => log.addNotice(topic, payload);
    this.changed = (change) => (this.key === "" ? log.refuseChange(tool.name) : log.addChange(change));
    this.slice = (slice) => requireState(state).slice(slice) as never;
    this.dispatch = (event, payload) => requireState(state).dispatch(event, payload);
    this.resource = (name: string) => requireResources(captured).handle(name) as never;
    this.random = attemptRandom(given, seed);
    this.snapshot = (options = {}) => snapshotForCall(ports, work, this, options);
    this.#attempt = attempt;
    this.#traceparent = traceparent;
    Object.defineProperties(this, HandlerContext.#lazy);
  }
}

function timeoutFault({ tool, timeoutMs, endsByDeadline }: HandlerWork): Fault {
  if (endsByDeadline)
    return fault("DEADLINE_EXCEEDED", `the deadline of the run passed while ${tool.name} was running`);
  return fault("TOOL_TIMEOUT", `${tool.name} did not answer within ${timeoutMs} ms`);
}

function requireState(state: HandlerState | null): HandlerState {
  if (state !== null) return state;
  throw new FaultError(fault("STATE_FORBIDDEN", "this engine has no slices; pass slices to createEngine"));
}

function requireResources(captured: CapturedResources | null): CapturedResources {
  if (captured !== null) return captured;
  throw new FaultError(fault("STATE_FORBIDDEN", "the tool declares no resource"));
}

/** Random numbers derived from the attempt, so that they need not be recorded. */
function attemptRandom({ run_id, step_id, attempt }: HandlerWork["context"], seed: string): () => number {
  let next: (() => number) | null = null;
  return () => {
    next ??= seededRandom(`${seed}${run_id}/${step_id}/${attempt}`);
    return next();
  };
}
