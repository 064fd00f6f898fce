/** What letting a call pass, holding it or refusing it stood on, where more than one rule had a say. */
export interface Basis {
  /** Names exactly the rules that were in force; null: only those that always are. */
  readonly policy: string | null;
  /** Rules of the policy that applied and had nothing against it. */
  readonly passed: readonly string[];
  readonly objections: readonly Objection[];
}

/** What a rule had against letting a call pass. */
export interface Objection {
  readonly rule: string;
  readonly says: "hold" | "refuse";
  readonly reason: string;
}
