import { type Fault, type FaultError, fault } from "../fault.ts";
import { valueLimits } from "../json/check-json.ts";
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
  const page = new Page(sheet, slice, place);
  return slice.shape === "list" ? new ListOf(page) : new MapOf(page);
}

/** The part of a sheet that one slice has. Handlers are given what is drawn on it, and never get hold of it. */
class Page {
  readonly slice: Slice;
  readonly place: string;
  readonly #sheet: Sheet;

  constructor(sheet: Sheet, slice: Slice, place: string) {
    this.#sheet = sheet;
    this.slice = slice;
    this.place = place;
  }

  read(pointer = this.place): void {
    this.#sheet.read(this.slice, pointer);
  }

  entries(): Entries {
    return this.#sheet.entries(this.slice);
  }

  change(change: Change): void {
    this.#sheet.change(this.slice, change);
  }

  refused(message: string, code: "STATE_INVALID" | "STATE_FORBIDDEN" = "STATE_INVALID"): FaultError {
    return this.#sheet.refused(fault(code, message));
  }

  /** An entry as it may be kept, or the refusal that fails the call. */
  judged(key: string | number, value: Json): Json {
    const { name, entry, invariant } = this.slice;
    const parsed = entry.parse(value);
    if (!parsed.ok) throw this.refused(`${name}: entry ${key} does not fit: ${parsed.fault.message}`);
    const broken = invariant === null ? null : invariantOf(invariant, parsed.value, key);
    if (broken !== null) throw this.refused(`${name}: entry ${key} ${broken}`);
    return parsed.value;
  }
}

/** An invariant that throws does not hold. */
function invariantOf(invariant: NonNullable<Slice["invariant"]>, entry: Json, key: string | number): string | null {
  try {
    return invariant(entry, key);
  } catch (error) {
    return `breaks its invariant: ${error instanceof Error ? error.message : "it threw"}`;
  }
}

/** More parts than any place has: what is no pointer leads nowhere, and no entry is so deep. */
const NOWHERE = { length: Number.POSITIVE_INFINITY } as const;

function wayOff(path: string): string {
  if (parsePointer(path) === null) return `${path.slice(0, 100)} is no JSON pointer; it looks like /name`;
  return `a place inside an entry has at most ${valueLimits.depth} parts`;
}

class ListOf implements ListDraft<Json> {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  get #items() {
    return (this.#page.entries() as Extract<Entries, { shape: "list" }>).items;
  }

  get size(): number {
    this.#page.read();
    return this.#items.length;
  }

  get(index: number): Json | undefined {
    const items = this.#items;
    const has = Number.isInteger(index) && index >= 0 && index < items.length;
    // What is not there may come with an append.
    this.#page.read(has ? pointerTo(this.#page.place, index) : this.#page.place);
    return has ? items.get(index) : undefined;
  }

  latest(): Json | undefined {
    const { size } = this;
    return size === 0 ? undefined : this.#items.get(size - 1);
  }

  all(): readonly Json[] {
    this.#page.read();
    return [...this.#items];
  }

  where(test: (entry: Json) => boolean): readonly Json[] {
    return this.all().filter(test);
  }

  append(entry: Json): void {
    const value = this.#page.judged(this.#items.length, entry);
    this.#page.change({ op: "append", path: this.#page.place, value });
  }

  set(index: number, entry: Json): void {
    this.#assertNoLog();
    if (this.get(index) === undefined)
      throw this.#page.refused(`${this.#page.slice.name} has no entry ${index}; append it`);
    const value = this.#page.judged(index, entry);
    this.#page.change({ op: "set", path: pointerTo(this.#page.place, index), value });
  }

  replace(entries: readonly Json[]): void {
    this.#assertNoLog();
    const value = entries.map((entry, index) => this.#page.judged(index, entry));
    this.#page.change({ op: "set", path: this.#page.place, value });
  }

  #assertNoLog(): void {
    if (this.#page.slice.policy !== "log") return;
    throw this.#page.refused(`${this.#page.slice.name} is a log; it can only be appended to`, "STATE_FORBIDDEN");
  }
}

class MapOf implements MapDraft<Json> {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  get #items() {
    return (this.#page.entries() as Extract<Entries, { shape: "map" }>).items;
  }

  get size(): number {
    this.#page.read();
    return this.#items.size;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  get(key: string, path = ""): Json | undefined {
    const { length } = parsePointer(path) ?? NOWHERE;
    if (length > valueLimits.depth) throw this.#page.refused(wayOff(path));
    const entry = this.#items.get(key);
    this.#page.read(`${pointerTo(this.#page.place, key)}${path}`);
    return entry === undefined ? undefined : valueAt(entry, path);
  }

  all(): readonly (readonly [key: string, entry: Json])[] {
    this.#page.read();
    return sorted(this.#items);
  }

  where(test: (entry: Json, key: string) => boolean): readonly (readonly [key: string, entry: Json])[] {
    return this.all().filter(([key, entry]) => test(entry, key));
  }

  set(key: string, entry: Json): void {
    const value = this.#page.judged(key, entry);
    this.#page.change({ op: "set", path: pointerTo(this.#page.place, key), value });
  }

  setAt(key: string, path: string, value: Json): void {
    // It is judged as a whole, so that all of it matters.
    const entry = this.get(key);
    const { length } = parsePointer(path) ?? NOWHERE;
    const isInside = length > 0 && length <= valueLimits.depth;
    const whole = isObject(entry) && isInside ? withValueAt(entry, path, value) : undefined;
    if (whole === undefined)
      throw this.#page.refused(`${this.#page.slice.name}: entry ${key} has no place ${path.slice(0, 100)}`);
    const kept = valueAt(this.#page.judged(key, whole), path);
    if (kept === undefined) throw this.#page.refused(`${this.#page.slice.name}: no entry has a place ${path}`);
    this.#page.change({ op: "set", path: `${pointerTo(this.#page.place, key)}${path}`, value: kept });
  }

  delete(key: string): void {
    if (this.has(key)) this.#page.change({ op: "remove", path: pointerTo(this.#page.place, key) });
  }

  replace(entries: Readonly<Record<string, Json>>): void {
    const value = Object.fromEntries(
      Object.entries(entries).map(([key, entry]) => [key, this.#page.judged(key, entry)]),
    );
    this.#page.change({ op: "set", path: this.#page.place, value });
  }
}
