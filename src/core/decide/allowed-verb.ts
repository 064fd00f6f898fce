import type { Check } from "../store/store.ts";
import type { HeldIn } from "../values/held-in.ts";

/** The facts about a verb that the tenant's policies have allowed. */
export interface AllowedVerb extends HeldIn {
  /** The policy row that allowed it. */
  readonly checks?: readonly Check[];
}
