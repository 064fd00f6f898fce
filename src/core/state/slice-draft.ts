import { valueLimits } from "../json/check-json.ts";
import { parsePointer, pointerTo, valueAt, withValueAt } from "../json/json-pointer.ts";
import { assert } from "../values/assert.ts";
import { type Fault, type FaultError, fault } from "../values/fault.ts";
import { isJsonObject, type Json } from "../values/json.ts";
import type { PatchOperation } from "./patch.ts";
import { type Entries, sortedPairs } from "./project-state.ts";
import type { ListDraft, MapDraft, Slice } from "./slice.ts";

/** The draft that the drafts of its slices read and change. */
export interface DraftBackend {
  /** Records that a pointer in the slice was read. */
  read(slice: Slice, pointer: string): void;
  entries(slice: Slice): Entries;
  change(slice: Slice, change: PatchOperation): void;
  /** Records a refusal, which fails the call, and returns the error to throw. */
  refuse(why: Fault): FaultError;
}

export function createSliceDraft(backend: DraftBackend, slice: Slice, place: string): ListDraft<Json> | MapDraft<Json> {
  const access = new SliceAccess(backend, slice, place);
  return slice.shape === "list" ? new ListSliceDraft(access) : new MapSliceDraft(access);
}

/** The access to one slice of a draft. Handlers cannot reach it, because slice drafts keep it in a private field. */
class SliceAccess {
  readonly slice: Slice;
  readonly place: string;
  readonly #backend: DraftBackend;

  constructor(backend: DraftBackend, slice: Slice, place: string) {
    this.#backend = backend;
    this.slice = slice;
    this.place = place;
  }

  read(pointer = this.place): void {
    this.#backend.read(this.slice, pointer);
  }

  entries(): Entries {
    return this.#backend.entries(this.slice);
  }

  change(change: PatchOperation): void {
    this.#backend.change(this.slice, change);
  }

  refuse(message: string, code: "STATE_INVALID" | "STATE_FORBIDDEN" = "STATE_INVALID"): FaultError {
    return this.#backend.refuse(fault(code, message));
  }

  /** Returns the parsed entry, or throws the refusal that fails the call. */
  validate(key: string | number, value: Json): Json {
    const { name, entry, invariant } = this.slice;
    const parsed = entry.parse(value);
    if (!parsed.ok) throw this.refuse(`${name}: entry ${key} does not fit: ${parsed.fault.message}`);
    const broken = invariant === null ? null : checkInvariant(invariant, parsed.value, key);
    if (broken !== null) throw this.refuse(`${name}: entry ${key} ${broken}`);
    return parsed.value;
  }
}

/** Returns how the entry breaks the invariant, or null. An invariant that throws is broken. */
function checkInvariant(invariant: NonNullable<Slice["invariant"]>, entry: Json, key: string | number): string | null {
  try {
    return invariant(entry, key);
  } catch (error) {
    return `breaks its invariant: ${error instanceof Error ? error.message : "it threw"}`;
  }
}

/** Replaces the tokens of an invalid pointer by a length that exceeds every limit. */
const NOT_A_POINTER = { length: Number.POSITIVE_INFINITY } as const;

function pathProblem(path: string): string {
  if (parsePointer(path) === null) return `${path.slice(0, 100)} is not a JSON pointer; a pointer looks like /name`;
  return `a pointer into an entry has at most ${valueLimits.depth} parts`;
}

class ListSliceDraft implements ListDraft<Json> {
  readonly #access: SliceAccess;

  constructor(access: SliceAccess) {
    this.#access = access;
  }

  get #items() {
    return (this.#access.entries() as Extract<Entries, { shape: "list" }>).items;
  }

  get size(): number {
    this.#access.read();
    return this.#items.length;
  }

  get(index: number): Json | undefined {
    const items = this.#items;
    const has = Number.isInteger(index) && index >= 0 && index < items.length;
    // Reading an absent index reads the whole list, because an append may add it.
    this.#access.read(has ? pointerTo(this.#access.place, index) : this.#access.place);
    return has ? items.get(index) : undefined;
  }

  latest(): Json | undefined {
    const { size } = this;
    return size === 0 ? undefined : this.#items.get(size - 1);
  }

  all(): readonly Json[] {
    this.#access.read();
    return [...this.#items];
  }

  where(test: (entry: Json) => boolean): readonly Json[] {
    return this.all().filter(test);
  }

  append(entry: Json): void {
    const value = this.#access.validate(this.#items.length, entry);
    this.#access.change({ op: "append", path: this.#access.place, value });
  }

  set(index: number, entry: Json): void {
    this.#assertNoLog();
    if (this.get(index) === undefined)
      throw this.#access.refuse(`${this.#access.slice.name} has no entry ${index}; append it`);
    const value = this.#access.validate(index, entry);
    this.#access.change({ op: "set", path: pointerTo(this.#access.place, index), value });
  }

  replace(entries: readonly Json[]): void {
    this.#assertNoLog();
    this.#replaceAll(entries);
  }

  /** Replaces a log. Handlers cannot reach it. */
  static replaceLog(draft: ListSliceDraft, entries: readonly Json[]): void {
    draft.#replaceAll(entries);
  }

  #replaceAll(entries: readonly Json[]): void {
    const value = entries.map((entry, index) => this.#access.validate(index, entry));
    this.#access.change({ op: "set", path: this.#access.place, value });
  }

  #assertNoLog(): void {
    if (this.#access.slice.policy !== "log") return;
    throw this.#access.refuse(`${this.#access.slice.name} is a log; it can only be appended to`, "STATE_FORBIDDEN");
  }
}

/** Replaces all entries of a log, which otherwise can only be appended to. */
export function replaceLog(draft: ListDraft<Json>, entries: readonly Json[]): void {
  assert(draft instanceof ListSliceDraft, "a log is a list of a draft");
  ListSliceDraft.replaceLog(draft, entries);
}

class MapSliceDraft implements MapDraft<Json> {
  readonly #access: SliceAccess;

  constructor(access: SliceAccess) {
    this.#access = access;
  }

  get #items() {
    return (this.#access.entries() as Extract<Entries, { shape: "map" }>).items;
  }

  get size(): number {
    this.#access.read();
    return this.#items.size;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  get(key: string, path = ""): Json | undefined {
    const { length } = parsePointer(path) ?? NOT_A_POINTER;
    if (length > valueLimits.depth) throw this.#access.refuse(pathProblem(path));
    const entry = this.#items.get(key);
    this.#access.read(`${pointerTo(this.#access.place, key)}${path}`);
    return entry === undefined ? undefined : valueAt(entry, path);
  }

  all(): readonly (readonly [key: string, entry: Json])[] {
    this.#access.read();
    return sortedPairs(this.#items);
  }

  where(test: (entry: Json, key: string) => boolean): readonly (readonly [key: string, entry: Json])[] {
    return this.all().filter(([key, entry]) => test(entry, key));
  }

  set(key: string, entry: Json): void {
    const value = this.#access.validate(key, entry);
    this.#access.change({ op: "set", path: pointerTo(this.#access.place, key), value });
  }

  setAt(key: string, path: string, value: Json): void {
    // Reads the whole entry, because the whole entry is validated.
    const entry = this.get(key);
    const { length } = parsePointer(path) ?? NOT_A_POINTER;
    const isInside = length > 0 && length <= valueLimits.depth;
    const whole = isJsonObject(entry) && isInside ? withValueAt(entry, path, value) : undefined;
    if (whole === undefined)
      throw this.#access.refuse(
        `${this.#access.slice.name}: a value cannot be set at ${path.slice(0, 100)} in entry ${key}`,
      );
    const parsed = valueAt(this.#access.validate(key, whole), path);
    if (parsed === undefined) throw this.#access.refuse(`${this.#access.slice.name}: the schema has no field ${path}`);
    this.#access.change({ op: "set", path: `${pointerTo(this.#access.place, key)}${path}`, value: parsed });
  }

  delete(key: string): void {
    if (this.has(key)) this.#access.change({ op: "remove", path: pointerTo(this.#access.place, key) });
  }

  replace(entries: Readonly<Record<string, Json>>): void {
    const value = Object.fromEntries(
      Object.entries(entries).map(([key, entry]) => [key, this.#access.validate(key, entry)]),
    );
    this.#access.change({ op: "set", path: this.#access.place, value });
  }
}
