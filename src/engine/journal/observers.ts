import type { Event } from "../../core/event/event.ts";
import { findStep, type Run } from "../../core/run/run.ts";
import type { CallEnd, GivenTrace, ObservedCall, Observer, ObserverReport, TimedAppend } from "../api/observer.ts";
import { errorText } from "../ports/thrown-fault.ts";
import { readTraceParent } from "../ports/trace-parent.ts";

/** Calls the observers of an engine. No error of an observer leaves this class. */
export class Observers {
  readonly #observers: readonly Observer[];
  readonly #reports: { readonly name: string; errors: number; latest: string | null }[];

  constructor(observers: readonly Observer[]) {
    this.#observers = observers;
    this.#reports = observers.map(({ name }) => ({ name, errors: 0, latest: null }));
  }

  get isEmpty(): boolean {
    return this.#observers.length === 0;
  }

  get reports(): readonly ObserverReport[] {
    return this.#reports.map((report) => ({ ...report }));
  }

  /** Reports the events that brought a run to `after`. */
  onAppended(after: Run, events: readonly Event[], durable: boolean): void {
    if (this.isEmpty) return;
    const { tenant, id: run_id, trace_id } = after;
    const first = after.position - events.length + 1;
    for (const [index, event] of events.entries()) {
      const appended = {
        tenant,
        run_id,
        position: first + index,
        event,
        tool: toolOf(after, event),
        trace_id: traceOf(after, event) ?? trace_id,
        durable,
      };
      for (const [at, observer] of this.#observers.entries()) this.#guard(at, () => observer.onEvent?.(appended));
    }
  }

  onTimedAppend(append: TimedAppend): void {
    for (const [at, observer] of this.#observers.entries()) this.#guard(at, () => observer.onAppend?.(append));
  }

  /**
   * Starts an attempt inside every observer, the first one outermost. The attempt starts before this function returns,
   * exactly once, and an observer cannot delay or repeat it. The attempt gets the trace of the innermost observer that
   * gives one.
   */
  aroundCall<Attempt>(
    describe: () => ObservedCall,
    begin: (traceparent: string | null) => Attempt,
    end: (attempt: Attempt) => Promise<CallEnd>,
  ): Attempt {
    const call = describe();
    let attempt: Attempt | null = null;
    let start = once((given) => {
      attempt = begin(readTraceParent(given?.traceparent));
      return end(attempt);
    });
    for (const [at, observer] of [...this.#observers.entries()].reverse()) {
      const inner = start;
      start = once((outer) => {
        this.#guard(at, () => observer.aroundCall?.(call, (given) => inner(given ?? outer)));
        return inner(outer);
      });
    }
    void start(undefined);
    return attempt as Attempt;
  }

  #guard(at: number, work: () => Promise<void> | void): void {
    try {
      const waiting = work();
      if (waiting instanceof Promise) waiting.catch((error) => this.#count(at, error));
    } catch (error) {
      this.#count(at, error);
    }
  }

  #count(at: number, error: unknown): void {
    const report = this.#reports[at];
    if (report === undefined) return;
    report.errors += 1;
    report.latest = errorText(error);
  }
}

function toolOf(run: Run, event: Event): string | null {
  const gate = "gate_id" in event ? run.gates.get(event.gate_id) : undefined;
  const step_id = "step_id" in event ? event.step_id : gate?.step_id;
  return (step_id && findStep(run, step_id)?.spec.name) ?? null;
}

/** Returns the trace that the call of the event was proposed with, or undefined. */
function traceOf(run: Run, event: Event): string | undefined {
  const gate = "gate_id" in event ? run.gates.get(event.gate_id) : undefined;
  const step_id = "step_id" in event ? event.step_id : gate?.step_id;
  const cause = step_id === undefined ? null : findStep(run, step_id)?.cause;
  return cause?.by === "agent" ? cause.trace_id : undefined;
}

/** Returns a function that calls `work` the first time, and returns the same result every time. */
function once<Result>(work: (given: GivenTrace | undefined) => Result): (given: GivenTrace | undefined) => Result {
  let result: { readonly value: Result } | null = null;
  return (given) => {
    result ??= { value: work(given) };
    return result.value;
  };
}
