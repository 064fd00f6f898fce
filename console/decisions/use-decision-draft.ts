import { useState } from "preact/hooks";
import { type DecisionDraft, dropDraft, keepDraft, readDraft } from "./decision-draft.ts";

/** Returns the draft of an entry, a function that changes it, and one that forgets it. */
export function useDecisionDraft(
  id: string,
): readonly [DecisionDraft, (change: Partial<DecisionDraft>) => void, () => void] {
  const [, setTurn] = useState(0);
  const draft = readDraft(id);
  const next = () => setTurn((turn) => turn + 1);
  const change = (changed: Partial<DecisionDraft>) => {
    keepDraft(id, { ...readDraft(id), ...changed });
    next();
  };
  const drop = () => {
    dropDraft(id);
    next();
  };
  return [draft, change, drop];
}
