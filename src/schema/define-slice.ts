import { isPlainObject } from "../core/json/plain-object.ts";
import type { Schema } from "../core/ports/schema.ts";
import {
  type DraftOf,
  defaultSlicePolicy,
  type Reducer,
  type Slice,
  type SliceOf,
  type SliceShape,
} from "../core/state/slice.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { Json } from "../core/values/json.ts";
import { type SchemaDefinition, type SchemaInput, type SchemaOutput, schemaFrom } from "./schema-from.ts";

/** The definition of a slice. Name, shape and the schema of an entry are required; the rest has safe defaults. */
export interface SliceDefinition<Entry extends SchemaDefinition, Shape extends SliceShape, Sum = unknown> {
  readonly name: string;
  /** Changes when the format of the entries changes. Recorded entries then need a migration. */
  readonly version?: string;
  /** A list is ordered, a map has keys. */
  readonly shape: Shape;
  /** Default: state, but log for tool_invoked, prompt_rendered and prompt_executed, and cache for workspace_digest. */
  readonly policy?: Slice["policy"];
  readonly scope?: Slice["scope"];
  readonly entry: Entry;
  readonly initial?: Shape extends "list"
    ? readonly SchemaInput<Entry>[]
    : Readonly<Record<string, SchemaInput<Entry>>>;
  /** The changes of this slice when an event is dispatched, by event name. */
  readonly reducers?: Readonly<Record<string, (slice: DraftOf<SchemaOutput<Entry>, Shape>, event: never) => void>>;
  /** Returns why an entry is invalid, or nothing if it is valid. */
  readonly invariant?: (entry: SchemaOutput<Entry>, key: KeyOf<Shape>) => string | null | undefined;
  /** Converts entries of an earlier version, by version. Entries without a migration are refused (`SLICE_CHANGED`). */
  readonly migrations?: Readonly<Record<string, (entry: never, key: KeyOf<Shape>) => SchemaInput<Entry>>>;
  /** A condition on all entries together, as a sum. The cost of its check follows the size of the change. */
  readonly fold?: FoldDefinition<SchemaOutput<Entry>, KeyOf<Shape>, Sum>;
}

type KeyOf<Shape> = Shape extends "list" ? number : string;

export interface FoldDefinition<Entry, Key, Sum> {
  readonly begin: Sum;
  add(sum: Sum, entry: Entry, key: Key): Sum;
  /** Subtracts the contribution of an entry. */
  remove(sum: Sum, entry: Entry, key: Key): Sum;
  /** Returns why the sum is invalid, or nothing if it is valid. */
  holds(sum: Sum): string | null | undefined;
}

const nameRule = /^[a-z][a-z0-9_-]{0,63}$/;

/** Makes a slice from its definition, or throws CONFIG_INVALID with all problems. */
export function defineSlice<const Entry extends SchemaDefinition, const Shape extends SliceShape, Sum = unknown>(
  definition: SliceDefinition<Entry, Shape, Sum>,
): SliceOf<SchemaOutput<Entry>, Shape> {
  const {
    name,
    shape,
    version = "1",
    scope = "project",
    reducers = {},
    policy = defaultSlicePolicy(name),
  } = definition;
  const { migrations = {}, fold } = definition;
  const entry = entrySchema(name, definition.entry);
  const initial: unknown = definition.initial ?? (shape === "list" ? [] : {});
  const invariant = definition.invariant as Invariant | undefined;
  const problems = [
    ...problemUnless(nameRule.test(name), "its name must be 1 to 64 of a-z, 0-9, _ and -, a letter first"),
    ...problemUnless(shape === "list" || shape === "map", "its shape must be list or map"),
    ...problemUnless(["state", "log", "cache"].includes(policy), "its policy must be state, log or cache"),
    ...problemUnless(policy !== "log" || shape === "list", "its shape must be list, because its policy is log"),
    ...problemUnless(scope === "project" || scope === "session", "its scope must be project or session"),
    ...problemUnless(typeof version === "string" && version !== "", "its version must be a text"),
    ...problemUnless(Object.values(reducers).every(isFunction), "its reducers must be functions, by event name"),
    ...problemUnless(
      isPlainObject(migrations) && Object.values(migrations).every(isFunction),
      "its migrations must be functions, by version",
    ),
    ...problemUnless(!Object.hasOwn(migrations, version), "its migrations must not include its current version"),
    ...problemUnless(
      fold === undefined || isFold(fold),
      "its fold must have begin, and the functions add, remove and holds",
    ),
    ...initialProblems(initial, shape, entry),
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
    initial: initial as Slice["initial"],
    reducers: Object.fromEntries(
      Object.entries(reducers).map(([event, reducer]) => [event, synchronousReducer(name, event, reducer)]),
    ),
    migrations: { ...(migrations as unknown as Slice["migrations"]) },
    fold: fold === undefined ? null : makeFold(fold as unknown as Fold),
    invariant: invariant === undefined ? null : (value: Json, key: string | number) => invariant(value, key) ?? null,
  });
}

function entrySchema(name: string, definition: SchemaDefinition): Schema {
  try {
    return schemaFrom(definition);
  } catch (thrown) {
    if (!(thrown instanceof FaultError)) throw thrown;
    throw new FaultError(fault(thrown.fault.code, `the entry of slice ${name}: ${thrown.fault.message}`));
  }
}

type Fold = FoldDefinition<Json, string | number, Json>;

function makeFold(fold: Fold): Slice["fold"] {
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

/** Refuses an async reducer: its later changes would be lost, and its failure would not be reported. */
function synchronousReducer(name: string, event: string, reducer: (slice: never, event: never) => unknown): Reducer {
  return (slice, payload) => {
    const result = reducer(slice as never, payload as never);
    if (!(result instanceof Promise)) return;
    result.catch(() => {});
    throw new FaultError(
      fault(
        "REDUCER_FAILED",
        `the reducer of ${name} for ${event} is async; put the data that it needs into the event`,
      ),
    );
  };
}

type Invariant = (entry: Json, key: string | number) => string | null | undefined;

function initialProblems(initial: unknown, shape: SliceShape, entry: Schema): readonly string[] {
  const isValid = shape === "list" ? Array.isArray(initial) : isPlainObject(initial);
  if (!isValid) return [`its initial value must be ${shape === "list" ? "a list" : "an object"} of entries`];
  return Object.entries(initial as object).flatMap(([key, value]) => {
    const parsed = entry.parse(value);
    return parsed.ok ? [] : [`initial entry ${key}: ${parsed.fault.message}`];
  });
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function problemUnless(isValid: boolean, problem: string): readonly string[] {
  return isValid ? [] : [problem];
}
