import type { LedgerRow } from "../../core/store/tables.ts";
import type { EffectKey, Instant } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";

/** The ledger row of an act: whether it happened, which step owns it, and the receipt that proves it. */
export interface ActReport extends Pick<LedgerRow, "state" | "generation" | "tool" | "run_id" | "step_id" | "attempt"> {
  readonly key: EffectKey;
  /** The key that the tool passed to its receiver. It differs from `key` once a person allowed a repeat. */
  readonly sent_key: EffectKey;
  /** Null: no event proves the act, its output is not usable, or a retention has erased the event. */
  readonly receipt: { readonly output: Json; readonly at: Instant } | null;
}
