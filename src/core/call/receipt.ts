import type { Event } from "../event/event.ts";
import type { EffectKey, Instant, StepId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";

/** The recorded result of an act, and the act that it proves. */
export interface Receipt {
  readonly output: Json;
  readonly at: Instant;
  /** Null: an earlier version wrote the event, without the key. */
  readonly key: EffectKey | null;
  readonly generation: number;
  readonly step_id: StepId;
}

/** Returns the receipt that an event is. Null: the event proves no act with a usable output. */
export function receiptOf(event: Event): Receipt | null {
  if (event.type !== "step.succeeded" && event.type !== "step.settled") return null;
  const { at, step_id, ledger } = event;
  if (ledger == null) return null; // A step that reused a result did not act.
  const proven = { at, step_id, key: ledger.key ?? null, generation: ledger.generation };
  if (event.type === "step.succeeded") return { output: event.output, ...proven };
  return event.settled.as === "happened" ? { output: event.settled.output, ...proven } : null;
}
