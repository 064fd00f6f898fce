/** The rules behind a verdict to which more than one rule contributed. */
export interface Basis {
  /** Identifies exactly the rules in force; null: only the built-in rules. */
  readonly policy: string | null;
  /** The rules of the policy that applied and allowed the call. */
  readonly passed: readonly string[];
  readonly objections: readonly Objection[];
}

/** The reason why a rule held or refused a call. */
export interface Objection {
  readonly rule: string;
  readonly says: "hold" | "refuse";
  readonly reason: string;
}
