import type { Json, JsonObject } from "../json/json.ts";
import type { Schema } from "../schema.ts";

/**
 * state: rolled back with the call that wrote it. log: append-only, and what a failed call wrote stays. cache: may be dropped
 * at any time and made anew.
 */
export type SlicePolicy = "state" | "log" | "cache";

export type SliceShape = "list" | "map";

/** One named part of a project's state: entries of one kind, in order or by key. */
export interface Slice {
  readonly name: string;
  /** What the record says its entries were written as; another one reads them only if they can be migrated. */
  readonly version: string;
  /** By an earlier version: what its entries are now. */
  readonly migrations: Readonly<Record<string, (entry: Json, key: string | number) => Json>>;
  readonly shape: SliceShape;
  readonly policy: SlicePolicy;
  /** session: each session of the project has its own. */
  readonly scope: "project" | "session";
  /** Of one entry, so that judging a change costs what the change does. */
  readonly entry: Schema;
  readonly initial: readonly Json[] | JsonObject;
  /** By event: what a dispatched event changes. */
  readonly reducers: Readonly<Record<string, Reducer>>;
  /** Why an entry may not be like this; null: it may. */
  readonly invariant: ((entry: Json, key: string | number) => string | null) | null;
  /** What has to hold of all entries together; null: nothing. */
  readonly fold: SliceFold | null;
}

/** What has to hold of all entries of a slice together: a sum that each entry adds to, and what it may be. */
export interface SliceFold {
  readonly begin: Json;
  add(sum: Json, entry: Json, key: string | number): Json;
  /** Takes back what the entry had added. */
  remove(sum: Json, entry: Json, key: string | number): Json;
  /** Why the sum may not be this; null: it may. */
  holds(sum: Json): string | null;
}

/** Changes a slice as an event says. It sees this slice and the event, and nothing else. */
export type Reducer = (slice: ListDraft<Json> | MapDraft<Json>, event: Json) => void;

/** A slice with what its entries are, for whoever writes a tool. */
export interface SliceOf<Entry, Shape extends SliceShape> extends Slice {
  readonly shape: Shape;
  /** Never there: it carries the type of the entries. */
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
  /** These entries, and none of those before. */
  replace(entries: readonly Entry[]): void;
}

/** Entries in the order of their keys. */
export interface MapView<Entry> {
  readonly size: number;
  has(key: string): boolean;
  /** The entry, or what a JSON pointer names inside it. */
  get(key: string): Entry | undefined;
  get(key: string, path: string): Json | undefined;
  all(): readonly (readonly [key: string, entry: Entry])[];
  where(test: (entry: Entry, key: string) => boolean): readonly (readonly [key: string, entry: Entry])[];
}

export interface MapDraft<Entry> extends MapView<Entry> {
  set(key: string, entry: Entry): void;
  /** Only what the JSON pointer names inside the entry. */
  setAt(key: string, path: string, value: Json): void;
  delete(key: string): void;
  /** These entries, and none of those before. */
  replace(entries: Readonly<Record<string, Entry>>): void;
}

export type ViewOf<Entry, Shape extends SliceShape> = Shape extends "list" ? ListView<Entry> : MapView<Entry>;
export type DraftOf<Entry, Shape extends SliceShape> = Shape extends "list" ? ListDraft<Entry> : MapDraft<Entry>;

/** What a slice is kept as if its author does not say; any other name is state. */
const usualPolicies: Readonly<Record<string, SlicePolicy>> = {
  plan: "state",
  visibility_overrides: "state",
  workspace_digest: "cache",
  tool_invoked: "log",
  prompt_rendered: "log",
  prompt_executed: "log",
};

export function usualPolicy(name: string): SlicePolicy {
  return Object.hasOwn(usualPolicies, name) ? (usualPolicies[name] as SlicePolicy) : "state";
}

/** What the record calls a slice: that of a session has the session's name behind its own. */
export function recordName({ name, scope }: Pick<Slice, "name" | "scope">, session: string): string {
  return scope === "project" ? name : `${name}@${session}`;
}

/** The slice that the record means by a name. */
export function sliceNamed(slices: readonly Slice[], recorded: string): Slice | undefined {
  const at = recorded.indexOf("@");
  const name = at < 0 ? recorded : recorded.slice(0, at);
  return slices.find((slice) => slice.name === name && (slice.scope === "session") === at >= 0);
}
