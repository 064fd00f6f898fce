import { foldText } from "../values/normalize-text.ts";

/**
 * Returns the key of a person. Ids with the same key are the same person: they differ only in case (Bob, bob) or in the
 * form of their characters (full-width letters, accents in one character or two). Rules that exclude a person or count
 * different people compare keys. Rules that allow a person compare ids, which is stricter.
 */
export function personKey(id: string): string {
  return foldText(id);
}

export function isSamePerson(one: string, other: string): boolean {
  return one === other || personKey(one) === personKey(other);
}
