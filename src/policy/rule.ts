import type { Demand } from "../core/demand.ts";
import type { Expression } from "../core/expression.ts";
import type { Allowance } from "../core/limits/budget.ts";
import type { Case } from "./case.ts";
import type { Selector } from "./selector.ts";
import type { StatePlaces } from "./state-places.ts";

/** What a rule has against a call: it must not be, or a person has to say yes. */
export type Said =
  | { readonly says: "refuse"; readonly reason: string }
  | { readonly says: "hold"; readonly reason: string; readonly demand: Demand };

/** What makes a rule of its kind: it looks at a call that the rule is for. Null: it has nothing against it. */
export type Clause = (call: Case) => Said | null;

/** One rule of a policy, read. */
export interface Rule {
  /** Layer, document and rule: what the record calls it. */
  readonly id: string;
  /** permits: a call that no such rule of its document is for is refused. objects: its clause has the word. */
  readonly role: "permits" | "objects";
  readonly on: Selector;
  /** Only where this holds; null: always. */
  readonly when: Expression | null;
  readonly clause: Clause;
  /** How often, or for how much: judged with the start of a call, where it is charged. Null: it is no such rule. */
  readonly limit: Allowance | null;
  /** What it has to be shown of state before it is asked; null: nothing. */
  readonly places: StatePlaces | null;
}
