import type { Schema } from "../ports/schema.ts";
import type { Json, JsonObject } from "../values/json.ts";

/**
 * state: rolled back with the call that wrote it. log: append-only, and the entries of a failed call are kept. cache:
 * may be dropped at any time and computed again.
 */
export type SlicePolicy = "state" | "log" | "cache";

export type SliceShape = "list" | "map";

/** One named part of a project's state: entries of one kind, in order or by key. */
export interface Slice {
  readonly name: string;
  /** The version in which entries are stored; entries of another version are read only through a migration. */
  readonly version: string;
  /** Migrations of an entry, by the earlier version. */
  readonly migrations: Readonly<Record<string, (entry: Json, key: string | number) => Json>>;
  readonly shape: SliceShape;
  readonly policy: SlicePolicy;
  /** session: each session of the project has its own. */
  readonly scope: "project" | "session";
  /** The schema of one entry, so that validating a change costs no more than the change. */
  readonly entry: Schema;
  readonly initial: readonly Json[] | JsonObject;
  /** The reducers, by event. */
  readonly reducers: Readonly<Record<string, Reducer>>;
  /** Returns how an entry breaks the invariant, or null. */
  readonly invariant: ((entry: Json, key: string | number) => string | null) | null;
  /** A condition on all entries together, or null. */
  readonly fold: SliceFold | null;
}

/** A condition on all entries of a slice together: a sum over the entries, and a check of that sum. */
export interface SliceFold {
  readonly begin: Json;
  add(sum: Json, entry: Json, key: string | number): Json;
  /** Reverses `add` for the entry. */
  remove(sum: Json, entry: Json, key: string | number): Json;
  /** Returns why the sum is not allowed, or null. */
  holds(sum: Json): string | null;
}

/** Changes a slice for an event. It receives this slice and the event, and nothing else. */
export type Reducer = (slice: ListDraft<Json> | MapDraft<Json>, event: Json) => void;

/** A slice with the type of its entries, for authors of tools. */
export interface SliceOf<Entry, Shape extends SliceShape> extends Slice {
  readonly shape: Shape;
  /** Never present: it carries the type of the entries. */
  readonly of?: Entry;
}

export interface ListView<Entry> {
  readonly size: number;
  get(index: number): Entry | undefined;
  latest(): Entry | undefined;
  all(): readonly Entry[];
  where(test: (entry: Entry) => boolean): readonly Entry[];
}

export interface ListDraft<Entry> extends ListView<Entry> {
  append(entry: Entry): void;
  set(index: number, entry: Entry): void;
  /** Replaces all entries. */
  replace(entries: readonly Entry[]): void;
}

/** Entries in the order of their keys. */
export interface MapView<Entry> {
  readonly size: number;
  has(key: string): boolean;
  /** Returns the entry, or the value at a JSON pointer inside it. */
  get(key: string): Entry | undefined;
  get(key: string, path: string): Json | undefined;
  all(): readonly (readonly [key: string, entry: Entry])[];
  where(test: (entry: Entry, key: string) => boolean): readonly (readonly [key: string, entry: Entry])[];
}

export interface MapDraft<Entry> extends MapView<Entry> {
  set(key: string, entry: Entry): void;
  /** Sets only the value at the JSON pointer inside the entry. */
  setAt(key: string, path: string, value: Json): void;
  delete(key: string): void;
  /** Replaces all entries. */
  replace(entries: Readonly<Record<string, Entry>>): void;
}

export type ViewOf<Entry, Shape extends SliceShape> = Shape extends "list" ? ListView<Entry> : MapView<Entry>;
export type DraftOf<Entry, Shape extends SliceShape> = Shape extends "list" ? ListDraft<Entry> : MapDraft<Entry>;

/** The default policies by slice name; any other name is `state`. */
const defaultPolicies: Readonly<Record<string, SlicePolicy>> = {
  plan: "state",
  visibility_overrides: "state",
  workspace_digest: "cache",
  tool_invoked: "log",
  prompt_rendered: "log",
  prompt_executed: "log",
};

export function defaultSlicePolicy(name: string): SlicePolicy {
  return Object.hasOwn(defaultPolicies, name) ? (defaultPolicies[name] as SlicePolicy) : "state";
}

/** Returns the name of a slice in journals: a session slice has the session appended to its name. */
export function recordedSliceName({ name, scope }: Pick<Slice, "name" | "scope">, session: string): string {
  return scope === "project" ? name : `${name}@${session}`;
}

/** Returns the slice with a recorded name. */
export function findSlice(slices: readonly Slice[], recorded: string): Slice | undefined {
  const at = recorded.indexOf("@");
  const name = at < 0 ? recorded : recorded.slice(0, at);
  return slices.find((slice) => slice.name === name && (slice.scope === "session") === at >= 0);
}
