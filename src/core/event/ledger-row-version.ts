import type { EffectKey } from "../values/ids.ts";

/** The version and generation that a ledger row has from this event on. */
export interface LedgerRowVersion {
  readonly version: number;
  readonly generation: number;
  /** The key of the row. Present if the event is a receipt: it proves the act of this key and no other. */
  readonly key?: EffectKey;
  /** The row belongs to a later generation, so this event does not change it. */
  readonly superseded?: true;
}
