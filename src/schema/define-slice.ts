import { FaultError, fault } from "../core/fault.ts";
import type { Json } from "../core/json/json.ts";
import { isPlainObject } from "../core/json/plain-object.ts";
import type { Schema } from "../core/schema.ts";
import {
  type DraftOf,
  type Reducer,
  type Slice,
  type SliceOf,
  type SliceShape,
  usualPolicy,
} from "../core/state/slice.ts";
import { type Accepted, type SchemaDefinition, schemaFrom, type Yielded } from "./schema-from.ts";

/** A slice as its author writes it: what one entry is must be said; the rest has safe defaults. */
export interface SliceDefinition<Entry extends SchemaDefinition, Shape extends SliceShape, Sum = unknown> {
  readonly name: string;
  /** Raised when entries are written in another way; the record then no longer fits. */
  readonly version?: string;
  /** A list has an order and an end, a map has keys. */
  readonly shape: Shape;
  /** Default: state, but log for tool_invoked, prompt_rendered and prompt_executed, and cache for workspace_digest. */
  readonly policy?: Slice["policy"];
  readonly scope?: Slice["scope"];
  readonly entry: Entry;
  readonly initial?: Shape extends "list" ? readonly Accepted<Entry>[] : Readonly<Record<string, Accepted<Entry>>>;
  /** By event: what `dispatch` changes here. */
  readonly reducers?: Readonly<Record<string, (slice: DraftOf<Yielded<Entry>, Shape>, event: never) => void>>;
  /** Why an entry may not be like this; nothing if it may. */
  readonly invariant?: (entry: Yielded<Entry>, key: KeyOf<Shape>) => string | null | undefined;
  /** By an earlier version: what an entry that was written as that is now. Without one, such entries are refused (`SLICE_CHANGED`). */
  readonly migrations?: Readonly<Record<string, (entry: never, key: KeyOf<Shape>) => Accepted<Entry>>>;
  /** What has to hold of all entries together, as a sum that each adds to. Judging a call costs what it changed. */
  readonly fold?: FoldDefinition<Yielded<Entry>, KeyOf<Shape>, Sum>;
}

type KeyOf<Shape> = Shape extends "list" ? number : string;

interface FoldDefinition<Entry, Key, Sum> {
  readonly begin: Sum;
  add(sum: Sum, entry: Entry, key: Key): Sum;
  /** Takes back what the entry had added. */
  remove(sum: Sum, entry: Entry, key: Key): Sum;
  /** Why the sum may not be this; nothing if it may. */
  holds(sum: Sum): string | null | undefined;
}

const nameRule = /^[a-z][a-z0-9_-]{0,63}$/;

/** Makes a slice of its definition, or throws CONFIG_INVALID with everything that is wrong with it. */
export function defineSlice<const Entry extends SchemaDefinition, const Shape extends SliceShape, Sum = unknown>(
  definition: SliceDefinition<Entry, Shape, Sum>,
): SliceOf<Yielded<Entry>, Shape> {
  const { name, shape, version = "1", scope = "project", reducers = {}, policy = usualPolicy(name) } = definition;
  const { migrations = {}, fold } = definition;
  const entry = entryOf(name, definition.entry);
  const given: unknown = definition.initial ?? (shape === "list" ? [] : {});
  const invariant = definition.invariant as Invariant | undefined;
  const problems = [
    ...unless(nameRule.test(name), "its name must be 1 to 64 of a-z, 0-9, _ and -, a letter first"),
    ...unless(shape === "list" || shape === "map", "its shape must be list or map"),
    ...unless(["state", "log", "cache"].includes(policy), "its policy must be state, log or cache"),
    ...unless(policy !== "log" || shape === "list", "a log is a list"),
    ...unless(scope === "project" || scope === "session", "its scope must be project or session"),
    ...unless(typeof version === "string" && version !== "", "its version must be a text"),
    ...unless(Object.values(reducers).every(isFunction), "its reducers must be functions by event"),
    ...unless(
      isPlainObject(migrations) && Object.values(migrations).every(isFunction),
      "its migrations must be functions by version",
    ),
    ...unless(!Object.hasOwn(migrations, version), "nothing is migrated to the version that it has"),
    ...unless(fold === undefined || isFold(fold), "its fold must have begin, and the functions add, remove and holds"),
    ...initialProblems(given, shape, entry),
  ];
  if (problems.length > 0)
    throw new FaultError(fault("CONFIG_INVALID", `slice ${name}: ${problems.join("; ")}`, { problems }));
  return Object.freeze({
    name,
    version,
    shape,
    policy,
    scope,
    entry,
    initial: given as Slice["initial"],
    reducers: Object.fromEntries(
      Object.entries(reducers).map(([event, reducer]) => [event, prompt(name, event, reducer)]),
    ),
    migrations: { ...(migrations as unknown as Slice["migrations"]) },
    fold: fold === undefined ? null : foldOf(fold as unknown as Fold),
    invariant: invariant === undefined ? null : (value: Json, key: string | number) => invariant(value, key) ?? null,
  });
}

function entryOf(name: string, definition: SchemaDefinition): Schema {
  try {
    return schemaFrom(definition);
  } catch (thrown) {
    if (!(thrown instanceof FaultError)) throw thrown;
    throw new FaultError(fault(thrown.fault.code, `the entry of slice ${name}: ${thrown.fault.message}`));
  }
}

type Fold = FoldDefinition<Json, string | number, Json>;

function foldOf(fold: Fold): Slice["fold"] {
  return {
    begin: fold.begin,
    add: (sum, entry, key) => fold.add(sum, entry, key),
    remove: (sum, entry, key) => fold.remove(sum, entry, key),
    holds: (sum) => fold.holds(sum) ?? null,
  };
}

function isFold(value: unknown): boolean {
  return isPlainObject(value) && "begin" in value && [value.add, value.remove, value.holds].every(isFunction);
}

/** Nobody waits for what a reducer would do later, and nobody would hear of it if that failed. */
function prompt(name: string, event: string, reducer: (slice: never, event: never) => unknown): Reducer {
  return (slice, payload) => {
    const left = reducer(slice as never, payload as never);
    if (!(left instanceof Promise)) return;
    left.catch(() => {});
    throw new FaultError(
      fault("REDUCER_FAILED", `the reducer of ${name} for ${event} is async; what it needs belongs in the event`),
    );
  };
}

type Invariant = (entry: Json, key: string | number) => string | null | undefined;

function initialProblems(given: unknown, shape: SliceShape, entry: Schema): readonly string[] {
  const fits = shape === "list" ? Array.isArray(given) : isPlainObject(given);
  if (!fits) return [`its initial value must be ${shape === "list" ? "a list" : "an object"} of entries`];
  return Object.entries(given as object).flatMap(([key, value]) => {
    const parsed = entry.parse(value);
    return parsed.ok ? [] : [`initial entry ${key}: ${parsed.fault.message}`];
  });
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function unless(right: boolean, problem: string): readonly string[] {
  return right ? [] : [problem];
}
