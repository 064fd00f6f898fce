/** The text that a person has typed about a gate or a doubt, but not sent. */
export interface DecisionDraft {
  readonly reason: string;
  /** The edited input or the given output, as text. Null: it is not being edited. */
  readonly edited: string | null;
  /** The texts of the values that a gate asks for, by their pointers. */
  readonly data: Readonly<Record<string, string>>;
}

const drafts = new Map<string, DecisionDraft>();

/** Drafts outlive the selection of another entry, so that nothing typed is lost. */
export function readDraft(id: string): DecisionDraft {
  return drafts.get(id) ?? { reason: "", edited: null, data: {} };
}

export function keepDraft(id: string, draft: DecisionDraft): void {
  drafts.set(id, draft);
}

export function dropDraft(id: string): void {
  drafts.delete(id);
}
