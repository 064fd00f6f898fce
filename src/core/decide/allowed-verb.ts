import type { Check } from "../store/store.ts";
import type { Requested } from "../values/requested.ts";

/** The facts about a verb that the tenant's policies have allowed. */
export interface AllowedVerb extends Requested {
  /** The policy row that allowed it. */
  readonly checks?: readonly Check[];
}
