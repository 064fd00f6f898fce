import type { Counter, Histogram, Meter } from "@opentelemetry/api";
import type { AppendedEvent, CallEnd, ObservedCall } from "../engine/api/observer.ts";
import { gateDecisions, isGateDecision } from "./call-attributes.ts";

/** The events that end an attempt or refuse a step, and the outcome that is counted. */
const outcomes = {
  "step.succeeded": "succeeded",
  "step.failed": "failed",
  "step.rejected": "rejected",
  "step.cancelled": "cancelled",
  "step.doubted": "in_doubt",
} as const;

/** The numbers of calls and acts that wait for people. */
export interface WaitingCounts {
  readonly gates_open: number;
  readonly in_doubt: number;
}

/** Counts the steps, gates and calls of an engine. */
export class EngineMetrics {
  readonly #steps: Counter;
  readonly #reused: Counter;
  readonly #gates: Counter;
  readonly #gateWait: Histogram;
  readonly #duration: Histogram;
  readonly #appends: Histogram;

  constructor(meter: Meter, countWaiting: (() => Promise<WaitingCounts>) | null) {
    this.#steps = meter.createCounter("writ.steps", { description: "Steps by tool and outcome" });
    this.#reused = meter.createCounter("writ.reused", {
      description: "Acts that were not repeated, because a receipt answered the call",
    });
    this.#gates = meter.createCounter("writ.gates", { description: "Decided gates by decision" });
    this.#gateWait = meter.createHistogram("writ.gate.wait", {
      unit: "s",
      description: "Time until a gate is decided",
    });
    this.#duration = meter.createHistogram("gen_ai.execute_tool.duration", {
      unit: "s",
      description: "Time that a tool call takes",
    });
    this.#appends = meter.createHistogram("writ.append.duration", {
      unit: "s",
      description: "Time until the store has an append",
    });
    if (countWaiting !== null) observeWaiting(meter, countWaiting);
  }

  /** `heldMs`: the time that the decided gate was open, if it is known. */
  count({ event, tool }: AppendedEvent, heldMs: number | null): void {
    const { type } = event;
    if (isGateDecision(type)) {
      this.#gates.add(1, { "writ.decision": gateDecisions[type] });
      if (heldMs !== null) this.#gateWait.record(heldMs / 1000, { "writ.decision": gateDecisions[type] });
    }
    if (tool === null || !Object.hasOwn(outcomes, type)) return;
    this.#steps.add(1, { "gen_ai.tool.name": tool, "writ.outcome": outcomes[type as keyof typeof outcomes] });
    if (event.type === "step.succeeded" && event.reused !== undefined)
      this.#reused.add(1, { "gen_ai.tool.name": tool });
  }

  measureAppend(ms: number): void {
    this.#appends.record(ms / 1000);
  }

  measureCall({ tool, effect }: ObservedCall, { fault }: CallEnd, ms: number): void {
    this.#duration.record(ms / 1000, {
      "gen_ai.tool.name": tool,
      "writ.effect": effect,
      ...(fault !== null && { "error.type": fault.code }),
    });
  }
}

/** Reads the counts once per export: they are facts of the store, which other processes change too. */
function observeWaiting(meter: Meter, countWaiting: () => Promise<WaitingCounts>): void {
  const gates = meter.createObservableGauge("writ.gates.open", { description: "Calls that wait for a person" });
  const doubts = meter.createObservableGauge("writ.in_doubt", {
    description: "Acts that may or may not have happened",
  });
  meter.addBatchObservableCallback(
    async (result) => {
      const { gates_open, in_doubt } = await countWaiting();
      result.observe(gates, gates_open);
      result.observe(doubts, in_doubt);
    },
    [gates, doubts],
  );
}
