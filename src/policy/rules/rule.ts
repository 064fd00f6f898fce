import type { Demand } from "../../core/approval/approval-demand.ts";
import type { LimitSet } from "../../core/limits/budget.ts";
import type { Expression } from "../../core/ports/expression.ts";
import type { NamedStatePointers } from "../../core/state/named-state-pointers.ts";
import type { CallSelector } from "./call-selector.ts";
import type { RuleInput } from "./rule-input.ts";

/** The objection of a rule to a call: the call is refused or needs an approval. */
export type RuleAnswer =
  | { readonly says: "refuse"; readonly reason: string }
  | { readonly says: "hold"; readonly reason: string; readonly demand: Demand };

/** Checks a call that the rule applies to. Returns null if the rule does not object. */
export type RuleCheck = (call: RuleInput) => RuleAnswer | null;

/** A parsed rule of a policy. */
export interface Rule {
  /** Layer, document and rule, as in the record. */
  readonly id: string;
  /** `permits`: if a document has such rules, it refuses calls that match none. `objects`: `check` decides. */
  readonly role: "permits" | "objects";
  readonly on: CallSelector;
  /** The rule applies only if this holds; null: always. */
  readonly when: Expression | null;
  readonly check: RuleCheck;
  /** The limit of a rate or budget rule, checked when the start of a call charges it; null for other rules. */
  readonly limit: LimitSet | null;
  /** The state that must be loaded before the check; null: none. */
  readonly pointers: NamedStatePointers | null;
  /** True if it judges the moment of a call: the state, the time or the earlier calls of the run. */
  readonly momentary: boolean;
}
