import type { Patch } from "../src/core/state/patch.ts";

/** A project's state as a plain model of it: what the slices of the simulation hold. */
export interface Books {
  readonly counts: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
  /** What is written here stays, though its call fails. */
  readonly diary: readonly string[];
}

export const EMPTY: Books = { counts: {}, notes: [], diary: [] };

/** No count may exceed this. */
export const MOST = 5;

/** One thing that a call did with state, and what it saw. */
export type Deed =
  | { readonly did: "get"; readonly key: string; readonly saw: number | null }
  | { readonly did: "size"; readonly saw: number }
  | { readonly did: "all"; readonly saw: string }
  | { readonly did: "set"; readonly key: string; readonly value: number }
  | { readonly did: "delete"; readonly key: string }
  /** One more, by a reducer. */
  | { readonly did: "tell"; readonly key: string }
  | { readonly did: "note"; readonly text: string }
  | { readonly did: "correct"; readonly text: string }
  | { readonly did: "log"; readonly text: string }
  /** What state does not allow. */
  | { readonly did: "break" };

/** The books after these deeds, one after the other and nobody beside them; null: it could not have gone like that. */
export function after(books: Books, deeds: readonly Deed[]): Books | null {
  let now: Books | null = books;
  for (const deed of deeds) now = now && afterOne(now, deed);
  return now;
}

function afterOne(books: Books, deed: Deed): Books | null {
  const { counts, notes, diary } = books;
  switch (deed.did) {
    case "get":
      return (counts[deed.key] ?? null) === deed.saw ? books : null;
    case "size":
      return notes.length === deed.saw ? books : null;
    case "all":
      return countsText(counts) === deed.saw ? books : null;
    case "set":
      return deed.value > MOST ? null : { ...books, counts: { ...counts, [deed.key]: deed.value } };
    case "delete": {
      const { [deed.key]: _gone, ...left } = counts;
      return { ...books, counts: left };
    }
    case "tell": {
      const value = (counts[deed.key] ?? 0) + 1;
      return value > MOST ? null : { ...books, counts: { ...counts, [deed.key]: value } };
    }
    case "note":
      return { ...books, notes: [...notes, deed.text] };
    case "correct":
      return notes.length === 0 ? null : { ...books, notes: [deed.text, ...notes.slice(1)] };
    case "log":
      return { ...books, diary: [...diary, deed.text] };
    case "break":
      return null;
  }
}

/** What is left of the deeds of a call that failed. */
export function lasting(deeds: readonly Deed[]): readonly Deed[] {
  return deeds.filter(({ did }) => did === "log");
}

/** In the order of their keys. */
export function countsText(counts: Books["counts"]): string {
  return JSON.stringify(Object.entries(counts).sort(([left], [right]) => (left < right ? -1 : 1)));
}

export function booksText({ counts, notes, diary }: Books): string {
  return `${countsText(counts)} ${JSON.stringify(notes)} ${JSON.stringify(diary)}`;
}

/** The books after a patch, as anyone could fold it who knows nothing but what is written there. */
export function patched(books: Books, patch: Patch): Books {
  let now = books;
  for (const change of patch) {
    const [slice, key] = change.path.slice(1).split("/") as [keyof Books, string | undefined];
    if (change.op === "init") continue; // Every slice of the simulation begins with nothing in it.
    const list = slice === "counts" ? [] : now[slice];
    if (change.op === "append") now = { ...now, [slice]: [...list, change.value] };
    else if (change.op === "cut") now = { ...now, [slice]: list.slice(0, change.length) };
    else if (change.op === "remove") now = after(now, [{ did: "delete", key: key as string }]) as Books;
    else if (key === undefined) now = { ...now, [slice]: change.value };
    else if (slice === "counts") now = { ...now, counts: { ...now.counts, [key]: change.value as number } };
    else now = { ...now, [slice]: list.with(Number(key), change.value as string) };
  }
  return now;
}
