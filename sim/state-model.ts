import type { Patch } from "../src/core/state/patch.ts";

/** The state of a project as plain data, one field per slice of the simulation. */
export interface StateModel {
  readonly counts: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
  /** A log: its entries stay even if their call fails. */
  readonly diary: readonly string[];
}

export const EMPTY_STATE_MODEL: StateModel = { counts: {}, notes: [], diary: [] };

/** No count may exceed this. */
export const MAX_COUNT = 5;

/** One operation of a call on state, and the result that it read. */
export type StateOperation =
  | { readonly did: "get"; readonly key: string; readonly saw: number | null }
  | { readonly did: "size"; readonly saw: number }
  | { readonly did: "all"; readonly saw: string }
  | { readonly did: "set"; readonly key: string; readonly value: number }
  | { readonly did: "delete"; readonly key: string }
  /** Increments a count by a reducer. */
  | { readonly did: "tell"; readonly key: string }
  | { readonly did: "note"; readonly text: string }
  | { readonly did: "correct"; readonly text: string }
  | { readonly did: "log"; readonly text: string }
  /** A write that state refuses. */
  | { readonly did: "break" };

/** Returns the state after these operations alone, in order; null: their results do not fit or a write is refused. */
export function applyOperations(model: StateModel, operations: readonly StateOperation[]): StateModel | null {
  let now: StateModel | null = model;
  for (const operation of operations) now = now && applyOperation(now, operation);
  return now;
}

function applyOperation(model: StateModel, operation: StateOperation): StateModel | null {
  const { counts, notes, diary } = model;
  switch (operation.did) {
    case "get":
      return (counts[operation.key] ?? null) === operation.saw ? model : null;
    case "size":
      return notes.length === operation.saw ? model : null;
    case "all":
      return formatCounts(counts) === operation.saw ? model : null;
    case "set":
      return operation.value > MAX_COUNT ? null : { ...model, counts: { ...counts, [operation.key]: operation.value } };
    case "delete": {
      const { [operation.key]: _gone, ...left } = counts;
      return { ...model, counts: left };
    }
    case "tell": {
      const value = (counts[operation.key] ?? 0) + 1;
      return value > MAX_COUNT ? null : { ...model, counts: { ...counts, [operation.key]: value } };
    }
    case "note":
      return { ...model, notes: [...notes, operation.text] };
    case "correct":
      return notes.length === 0 ? null : { ...model, notes: [operation.text, ...notes.slice(1)] };
    case "log":
      return { ...model, diary: [...diary, operation.text] };
    case "break":
      return null;
  }
}

/** Returns the log writes, which remain if the call fails. */
export function logOperations(operations: readonly StateOperation[]): readonly StateOperation[] {
  return operations.filter(({ did }) => did === "log");
}

/** Formats the counts, sorted by key. */
export function formatCounts(counts: StateModel["counts"]): string {
  return JSON.stringify(Object.entries(counts).sort(([left], [right]) => (left < right ? -1 : 1)));
}

export function formatStateModel({ counts, notes, diary }: StateModel): string {
  return `${formatCounts(counts)} ${JSON.stringify(notes)} ${JSON.stringify(diary)}`;
}

/** Returns the state after a patch, without the code of the engine. */
export function applyPatchToModel(model: StateModel, patch: Patch): StateModel {
  let now = model;
  for (const change of patch) {
    const [slice, key] = change.path.slice(1).split("/") as [keyof StateModel, string | undefined];
    if (change.op === "init") continue; // Every slice starts empty.
    const list = slice === "counts" ? [] : now[slice];
    if (change.op === "append") now = { ...now, [slice]: [...list, change.value] };
    else if (change.op === "cut") now = { ...now, [slice]: list.slice(0, change.length) };
    else if (change.op === "remove") now = applyOperations(now, [{ did: "delete", key: key as string }]) as StateModel;
    else if (key === undefined) now = { ...now, [slice]: change.value };
    else if (slice === "counts") now = { ...now, counts: { ...now.counts, [key]: change.value as number } };
    else now = { ...now, [slice]: list.with(Number(key), change.value as string) };
  }
  return now;
}
