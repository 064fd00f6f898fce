import { parsePointer, pointerTo } from "../json/json-pointer.ts";
import { assert } from "../values/assert.ts";
import { type Fault, FaultError, fault } from "../values/fault.ts";
import type { Json } from "../values/json.ts";
import { migratedEntries } from "./migrated-entries.ts";
import { changedPointer, Footprint, type Patch, type PatchOperation } from "./patch.ts";
import { applyPatch, type Entries, entriesFrom, entriesToJson, type ProjectState } from "./project-state.ts";
import { findSlice, recordedSliceName, type Slice } from "./slice.ts";
import { createSliceDraft, type DraftBackend } from "./slice-draft.ts";
import { isDeclaredPointer, type StateAccess } from "./state-access-order.ts";

/** The options of a draft. */
export interface DraftOptions {
  readonly slices: readonly Slice[];
  readonly session: string;
  /** False: the draft is read-only, and a write fails the call. */
  readonly writes: boolean;
  /** The declared accesses of the call; null: not declared. */
  readonly declared?: StateAccess | null;
  /** The state bounds of the requester; every one of them must allow an access. */
  readonly bounds?: readonly StateAccess[];
}

/**
 * A private working copy of a project's state. It records which pointers are read and written, so that conflicts with
 * concurrent changes can be found. Rolling back means dropping the draft.
 */
export class Draft implements DraftBackend {
  readonly reads = new Footprint();
  readonly writes = new Footprint();
  readonly #options: DraftOptions;
  readonly #changes: PatchOperation[] = [];
  readonly #slices = new Map<Slice, ReturnType<typeof createSliceDraft>>();
  #state: ProjectState;
  #fault: Fault | null = null;
  #closed = false;

  constructor(base: ProjectState, options: DraftOptions) {
    this.#state = base;
    this.#options = options;
  }

  /** The first refusal, or null. A refusal fails the call, even if the handler catches it. */
  get fault(): Fault | null {
    return this.#fault;
  }

  /** The changes that are published if the call succeeds. */
  get patch(): Patch {
    return this.#changes;
  }

  /** The changes that are published if the call fails: those of logs. */
  get logged(): Patch {
    if (this.#changes.length === 0) return this.#changes;
    const { slices, session } = this.#options;
    const logs = new Set(
      slices.filter(({ policy }) => policy === "log").map((slice) => recordedSliceName(slice, session)),
    );
    // A migration sets a log with its version. A log that the call has replaced is as it was if the call fails.
    const isReplaced = (change: PatchOperation) => change.op === "set" && change.v === undefined;
    const isLog = ({ path }: PatchOperation) => logs.has(parsePointer(path)?.[0] as string);
    return this.#changes.filter((change) => isLog(change) && !isReplaced(change));
  }

  slice(slice: Slice): ReturnType<typeof createSliceDraft> {
    const existing = this.#slices.get(slice);
    if (existing !== undefined) return existing;
    if (!this.#options.slices.includes(slice))
      throw this.refuse(fault("STATE_INVALID", `${slice.name} is not a slice of this engine; give it to createEngine`));
    const created = createSliceDraft(this, slice, pointerTo("", recordedSliceName(slice, this.#options.session)));
    this.#slices.set(slice, created);
    return created;
  }

  /** Applies the reducers for the event in every slice that has one. A reducer that throws fails the call. */
  dispatch(event: string, payload: Json): void {
    const handling = this.#options.slices.filter(({ reducers }) => Object.hasOwn(reducers, event));
    if (handling.length === 0)
      throw this.refuse(fault("STATE_INVALID", `no slice has a reducer for ${event}; add one, or do not dispatch it`));
    for (const slice of handling) this.#reduce(slice, event, payload);
  }

  #reduce(slice: Slice, event: string, payload: Json): void {
    try {
      slice.reducers[event]?.(this.slice(slice), payload);
    } catch (error) {
      if (error instanceof FaultError) throw this.refuse(error.fault);
      const message = error instanceof Error ? error.message : "a value that is not an Error";
      throw this.refuse(fault("REDUCER_FAILED", `the reducer of ${slice.name} for ${event} threw: ${message}`));
    }
  }

  /** Refuses all further changes, because the call has ended. */
  close(): void {
    this.#closed = true;
  }

  entries(slice: Slice): Entries {
    const stored = this.#state.get(recordedSliceName(slice, this.#options.session));
    if (stored === undefined) return entriesFrom(slice.initial, slice.version);
    const current = migratedEntries(slice, stored);
    if (!current.ok) throw this.refuse(current.fault);
    return current.entries;
  }

  read(slice: Slice, pointer: string): void {
    this.reads.add(pointer);
    const { declared = null, bounds = [] } = this.#options;
    if (declared === null && bounds.length === 0) return;
    const place = this.#publicPointer(slice, pointer);
    if (declared !== null && !mayRead(declared, place)) throw this.refuse(undeclaredFault("reads", place));
    if (!bounds.every((bound) => mayRead(bound, place))) throw this.refuse(outOfBoundsFault("read", place));
  }

  #assertDeclared(slice: Slice, change: PatchOperation): void {
    const { declared = null, bounds = [] } = this.#options;
    if (declared === null && bounds.length === 0) return;
    const place = this.#publicPointer(slice, changedPointer(change));
    if (declared !== null && !mayWrite(declared, place)) throw this.refuse(undeclaredFault("writes", place));
    if (!bounds.every((bound) => mayWrite(bound, place))) throw this.refuse(outOfBoundsFault("change", place));
  }

  /** Returns the pointer as tools and plans write it, without the name of the session. */
  #publicPointer(slice: Slice, pointer: string): string {
    return `/${slice.name}${pointer.slice(pointerTo("", recordedSliceName(slice, this.#options.session)).length)}`;
  }

  change(slice: Slice, change: PatchOperation): void {
    if (this.#closed)
      throw new FaultError(fault("STATE_FORBIDDEN", `${slice.name} was changed after its call had ended`));
    if (!this.#options.writes) {
      const message = `only tools whose effect is writes change ${slice.name}; change the effect, or dispatch an event`;
      throw this.refuse(fault("STATE_FORBIDDEN", message));
    }
    this.#assertDeclared(slice, change);
    this.#ensureCurrent(slice);
    this.writes.add(changedPointer(change));
    this.#apply(change);
  }

  /** Repeats an append of another draft. It is dropped if the stored log cannot be read with the current slice. */
  append({ path, value }: Extract<PatchOperation, { op: "append" }>): void {
    const slice = findSlice(this.#options.slices, parsePointer(path)?.[0] ?? "");
    assert(slice !== undefined, "an append is to a known slice");
    const stored = this.#state.get(recordedSliceName(slice, this.#options.session));
    if (stored === undefined || migratedEntries(slice, stored).ok) this.change(slice, { op: "append", path, value });
  }

  /** Puts a value back that the slice had before. It is not judged by the schema and the declarations of the call. */
  revert(change: PatchOperation): void {
    this.reads.add(changedPointer(change));
    this.writes.add(changedPointer(change));
    this.#apply(change);
  }

  /** Creates the slice if it is absent, and migrates it to its current version. */
  #ensureCurrent(slice: Slice): void {
    const name = recordedSliceName(slice, this.#options.session);
    const [path, stored, v] = [pointerTo("", name), this.#state.get(name), slice.version];
    if (stored === undefined) this.#apply({ op: "init", path, value: slice.initial, v });
    if (stored === undefined || stored.v === v) return;
    this.writes.add(path);
    this.#apply({ op: "set", path, value: entriesToJson(this.entries(slice)), v });
  }

  #apply(change: PatchOperation): void {
    this.#state = applyPatch(this.#state, [change]);
    this.#changes.push(change);
  }

  refuse(why: Fault): FaultError {
    this.#fault ??= why;
    return new FaultError(why);
  }
}

function undeclaredFault(what: "reads" | "writes", place: string): Fault {
  return fault(
    "STATE_FORBIDDEN",
    `the call ${what} ${place}, which it did not declare; add it to state_${what}, or do not access it`,
  );
}

/** A pointer that may be written may also be read. */
function mayRead({ state_reads, state_writes }: StateAccess, place: string): boolean {
  return state_reads === null || isDeclaredPointer(state_reads, place) || isDeclaredPointer(state_writes ?? [], place);
}

function mayWrite({ state_writes }: StateAccess, place: string): boolean {
  return state_writes === null || isDeclaredPointer(state_writes, place);
}

function outOfBoundsFault(what: string, place: string): Fault {
  return fault("AUTH_FORBIDDEN", `the requester may not ${what} ${place}; use a principal with access to it`);
}
