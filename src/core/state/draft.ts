import { assert } from "../assert.ts";
import { type Fault, FaultError, fault } from "../fault.ts";
import type { Json } from "../json/json.ts";
import { parsePointer, pointerTo } from "../json/pointer.ts";
import { type Change, Footprint, type Patch, placeOf } from "./patch.ts";
import { type Entries, entriesFrom, type ProjectState, patched, wholeOf } from "./project-state.ts";
import { recordName, type Slice, sliceNamed } from "./slice.ts";
import { type Sheet, sliceDraft } from "./slice-draft.ts";
import { currentEntries } from "./slice-version.ts";
import { isWithin, type Touches } from "./state-order.ts";

/** What a draft is made for. */
export interface DraftTerms {
  readonly slices: readonly Slice[];
  readonly session: string;
  /** False: it is for looking at; writing fails the call. */
  readonly writes: boolean;
  /** Where the call said that it would go; null: it did not say. */
  readonly declared?: Touches | null;
  /** Where whoever asked may go; every one of these has to let it. */
  readonly bounds?: readonly Touches[];
}

/**
 * A private working copy of a project's state. What is read and written is noted, so that it can be told whether it would
 * have come out the same on top of what others did meanwhile. Dropping it is all there is to rolling back.
 */
export class Draft implements Sheet {
  readonly reads = new Footprint();
  readonly writes = new Footprint();
  readonly #terms: DraftTerms;
  readonly #changes: Change[] = [];
  readonly #slices = new Map<Slice, ReturnType<typeof sliceDraft>>();
  #state: ProjectState;
  #flaw: Fault | null = null;
  #closed = false;

  constructor(base: ProjectState, terms: DraftTerms) {
    this.#state = base;
    this.#terms = terms;
  }

  /** The first thing that was refused. A call that met one fails, whatever it makes of it. */
  get flaw(): Fault | null {
    return this.#flaw;
  }

  /** What it leaves if its call succeeds. */
  get patch(): Patch {
    return this.#changes;
  }

  /** What it leaves if its call fails: what was said to logs was said. */
  get logged(): Patch {
    if (this.#changes.length === 0) return this.#changes;
    const { slices, session } = this.#terms;
    const logs = new Set(slices.filter(({ policy }) => policy === "log").map((slice) => recordName(slice, session)));
    return this.#changes.filter(({ path }) => logs.has(parsePointer(path)?.[0] as string));
  }

  slice(slice: Slice): ReturnType<typeof sliceDraft> {
    const known = this.#slices.get(slice);
    if (known !== undefined) return known;
    if (!this.#terms.slices.includes(slice))
      throw this.refused(fault("STATE_INVALID", `${slice.name} is no slice of this engine; give it to createEngine`));
    const made = sliceDraft(this, slice, pointerTo("", recordName(slice, this.#terms.session)));
    this.#slices.set(slice, made);
    return made;
  }

  /** Lets every slice that knows the event change as its reducer says; one that throws fails the call. */
  dispatch(event: string, payload: Json): void {
    const listening = this.#terms.slices.filter(({ reducers }) => Object.hasOwn(reducers, event));
    if (listening.length === 0)
      throw this.refused(fault("STATE_INVALID", `no slice has a reducer for ${event}; add one, or do not dispatch it`));
    for (const slice of listening) this.#reduce(slice, event, payload);
  }

  #reduce(slice: Slice, event: string, payload: Json): void {
    try {
      slice.reducers[event]?.(this.slice(slice), payload);
    } catch (error) {
      if (error instanceof FaultError) throw this.refused(error.fault);
      const said = error instanceof Error ? error.message : "something that is no error";
      throw this.refused(fault("REDUCER_FAILED", `the reducer of ${slice.name} for ${event} threw: ${said}`));
    }
  }

  /** Takes no more changes: its call is over. */
  close(): void {
    this.#closed = true;
  }

  entries(slice: Slice): Entries {
    const kept = this.#state.get(recordName(slice, this.#terms.session));
    if (kept === undefined) return entriesFrom(slice.initial, slice.version);
    const current = currentEntries(slice, kept);
    if (!current.ok) throw this.refused(current.fault);
    return current.entries;
  }

  read(slice: Slice, pointer: string): void {
    this.reads.add(pointer);
    const { declared = null, bounds = [] } = this.#terms;
    if (declared === null && bounds.length === 0) return;
    const place = this.#placeIn(slice, pointer);
    if (declared !== null && !mayRead(declared, place)) throw this.refused(undeclared("reads", place));
    if (!bounds.every((bound) => mayRead(bound, place))) throw this.refused(outOfBounds("look at", place));
  }

  #assertDeclared(slice: Slice, change: Change): void {
    const { declared = null, bounds = [] } = this.#terms;
    if (declared === null && bounds.length === 0) return;
    const place = this.#placeIn(slice, placeOf(change));
    if (declared !== null && !mayWrite(declared, place)) throw this.refused(undeclared("writes", place));
    if (!bounds.every((bound) => mayWrite(bound, place))) throw this.refused(outOfBounds("change", place));
  }

  /** As tools and plans call it, whoever's session it is. */
  #placeIn(slice: Slice, pointer: string): string {
    return `/${slice.name}${pointer.slice(pointerTo("", recordName(slice, this.#terms.session)).length)}`;
  }

  change(slice: Slice, change: Change): void {
    if (this.#closed)
      throw new FaultError(fault("STATE_FORBIDDEN", `${slice.name} was changed after its call was over`));
    if (!this.#terms.writes) {
      const message = `${slice.name} is changed by tools whose effect is writes; change the effect, or dispatch an event`;
      throw this.refused(fault("STATE_FORBIDDEN", message));
    }
    this.#assertDeclared(slice, change);
    this.#bringIn(slice);
    this.writes.add(placeOf(change));
    this.#apply(change);
  }

  /** Says again what was said in another draft. That a log cannot be kept any more is nobody's fault. */
  append({ path, value }: Extract<Change, { op: "append" }>): void {
    const slice = sliceNamed(this.#terms.slices, parsePointer(path)?.[0] ?? "");
    assert(slice !== undefined, "what was said was said to a slice");
    const kept = this.#state.get(recordName(slice, this.#terms.session));
    if (kept === undefined || currentEntries(slice, kept).ok) this.change(slice, { op: "append", path, value });
  }

  /** The slice is on record, and as it is declared now. */
  #bringIn(slice: Slice): void {
    const name = recordName(slice, this.#terms.session);
    const [path, kept, v] = [pointerTo("", name), this.#state.get(name), slice.version];
    if (kept === undefined) this.#apply({ op: "init", path, value: slice.initial, v });
    if (kept === undefined || kept.v === v) return;
    this.writes.add(path);
    this.#apply({ op: "set", path, value: wholeOf(this.entries(slice)), v });
  }

  #apply(change: Change): void {
    this.#state = patched(this.#state, [change]);
    this.#changes.push(change);
  }

  refused(why: Fault): FaultError {
    this.#flaw ??= why;
    return new FaultError(why);
  }
}

function undeclared(what: "reads" | "writes", place: string): Fault {
  return fault(
    "STATE_FORBIDDEN",
    `the call ${what} ${place}, which it did not declare; add it to state_${what}, or do not go there`,
  );
}

/** What may be changed may be looked at first. */
function mayRead({ state_reads, state_writes }: Touches, place: string): boolean {
  return state_reads === null || isWithin(state_reads, place) || isWithin(state_writes ?? [], place);
}

function mayWrite({ state_writes }: Touches, place: string): boolean {
  return state_writes === null || isWithin(state_writes, place);
}

function outOfBounds(what: string, place: string): Fault {
  return fault("AUTH_FORBIDDEN", `whoever asked may not ${what} ${place}; ask as someone who may`);
}
