import { type Fault, type FaultError, fault } from "../fault.ts";
import { isObject, type Json } from "../json/json.ts";
import { parsePointer, pointerTo, valueAt, withValueAt } from "../json/pointer.ts";
import type { Change } from "./patch.ts";
import { type Entries, sorted } from "./project-state.ts";
import type { ListDraft, MapDraft, Slice } from "./slice.ts";

/** What the slices of a draft are written on. */
export interface Sheet {
  /** Notes that what a pointer names, in the slice, was read. */
  read(slice: Slice, pointer: string): void;
  entries(slice: Slice): Entries;
  change(slice: Slice, change: Change): void;
  /** Notes that something was refused, which fails the call. */
  refused(why: Fault): FaultError;
}

export function sliceDraft(sheet: Sheet, slice: Slice, place: string): ListDraft<Json> | MapDraft<Json> {
  return slice.shape === "list" ? new ListOf(sheet, slice, place) : new MapOf(sheet, slice, place);
}

/** An entry as it may be kept, or the refusal that fails the call. */
function judged(sheet: Sheet, { name, entry, invariant }: Slice, key: string | number, value: Json): Json {
  const parsed = entry.parse(value);
  if (!parsed.ok)
    throw sheet.refused(fault("STATE_INVALID", `${name}: entry ${key} does not fit: ${parsed.fault.message}`));
  const broken = invariant === null ? null : invariantOf(invariant, parsed.value, key);
  if (broken !== null) throw sheet.refused(fault("STATE_INVALID", `${name}: entry ${key} ${broken}`));
  return parsed.value;
}

/** An invariant that throws does not hold. */
function invariantOf(invariant: NonNullable<Slice["invariant"]>, entry: Json, key: string | number): string | null {
  try {
    return invariant(entry, key);
  } catch (error) {
    return `breaks its invariant: ${error instanceof Error ? error.message : "it threw"}`;
  }
}

class ListOf implements ListDraft<Json> {
  readonly #sheet: Sheet;
  readonly #slice: Slice;
  readonly #place: string;

  constructor(sheet: Sheet, slice: Slice, place: string) {
    this.#sheet = sheet;
    this.#slice = slice;
    this.#place = place;
  }

  get #items() {
    return (this.#sheet.entries(this.#slice) as Extract<Entries, { shape: "list" }>).items;
  }

  get size(): number {
    this.#sheet.read(this.#slice, this.#place);
    return this.#items.length;
  }

  get(index: number): Json | undefined {
    const items = this.#items;
    const has = Number.isInteger(index) && index >= 0 && index < items.length;
    // What is not there may come with an append.
    this.#sheet.read(this.#slice, has ? pointerTo(this.#place, index) : this.#place);
    return has ? items.get(index) : undefined;
  }

  latest(): Json | undefined {
    const { size } = this;
    return size === 0 ? undefined : this.#items.get(size - 1);
  }

  all(): readonly Json[] {
    this.#sheet.read(this.#slice, this.#place);
    return [...this.#items];
  }

  where(test: (entry: Json) => boolean): readonly Json[] {
    return this.all().filter(test);
  }

  append(entry: Json): void {
    const value = judged(this.#sheet, this.#slice, this.#items.length, entry);
    this.#sheet.change(this.#slice, { op: "append", path: this.#place, value });
  }

  set(index: number, entry: Json): void {
    this.#assertNoLog();
    if (this.get(index) === undefined)
      throw this.#sheet.refused(fault("STATE_INVALID", `${this.#slice.name} has no entry ${index}; append it`));
    const value = judged(this.#sheet, this.#slice, index, entry);
    this.#sheet.change(this.#slice, { op: "set", path: pointerTo(this.#place, index), value });
  }

  replace(entries: readonly Json[]): void {
    this.#assertNoLog();
    const value = entries.map((entry, index) => judged(this.#sheet, this.#slice, index, entry));
    this.#sheet.change(this.#slice, { op: "set", path: this.#place, value });
  }

  #assertNoLog(): void {
    if (this.#slice.policy !== "log") return;
    throw this.#sheet.refused(fault("STATE_FORBIDDEN", `${this.#slice.name} is a log; it can only be appended to`));
  }
}

class MapOf implements MapDraft<Json> {
  readonly #sheet: Sheet;
  readonly #slice: Slice;
  readonly #place: string;

  constructor(sheet: Sheet, slice: Slice, place: string) {
    this.#sheet = sheet;
    this.#slice = slice;
    this.#place = place;
  }

  get #items() {
    return (this.#sheet.entries(this.#slice) as Extract<Entries, { shape: "map" }>).items;
  }

  get size(): number {
    this.#sheet.read(this.#slice, this.#place);
    return this.#items.size;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  get(key: string, path = ""): Json | undefined {
    if (parsePointer(path) === null)
      throw this.#sheet.refused(fault("STATE_INVALID", `${path} is no JSON pointer; it looks like /name`));
    const entry = this.#items.get(key);
    this.#sheet.read(this.#slice, `${pointerTo(this.#place, key)}${path}`);
    return entry === undefined ? undefined : valueAt(entry, path);
  }

  all(): readonly (readonly [key: string, entry: Json])[] {
    this.#sheet.read(this.#slice, this.#place);
    return sorted(this.#items);
  }

  where(test: (entry: Json, key: string) => boolean): readonly (readonly [key: string, entry: Json])[] {
    return this.all().filter(([key, entry]) => test(entry, key));
  }

  set(key: string, entry: Json): void {
    const value = judged(this.#sheet, this.#slice, key, entry);
    this.#sheet.change(this.#slice, { op: "set", path: pointerTo(this.#place, key), value });
  }

  setAt(key: string, path: string, value: Json): void {
    // It is judged as a whole, so that all of it matters.
    const entry = this.get(key);
    const isInside = (parsePointer(path)?.length ?? 0) > 0;
    const whole = isObject(entry) && isInside ? withValueAt(entry, path, value) : undefined;
    if (whole === undefined)
      throw this.#sheet.refused(fault("STATE_INVALID", `${this.#slice.name}: entry ${key} has no place ${path}`));
    const kept = valueAt(judged(this.#sheet, this.#slice, key, whole), path);
    if (kept === undefined)
      throw this.#sheet.refused(fault("STATE_INVALID", `${this.#slice.name}: no entry has a place ${path}`));
    this.#sheet.change(this.#slice, { op: "set", path: `${pointerTo(this.#place, key)}${path}`, value: kept });
  }

  delete(key: string): void {
    if (this.has(key)) this.#sheet.change(this.#slice, { op: "remove", path: pointerTo(this.#place, key) });
  }

  replace(entries: Readonly<Record<string, Json>>): void {
    const value = Object.fromEntries(
      Object.entries(entries).map(([key, entry]) => [key, judged(this.#sheet, this.#slice, key, entry)]),
    );
    this.#sheet.change(this.#slice, { op: "set", path: this.#place, value });
  }
}
