import type { Event } from "../../core/event/event.ts";
import type { ProjectState } from "../../core/state/project-state.ts";
import type { StateChange } from "../../core/state/state-change.ts";
import {
  decodeBundle,
  decodeState,
  type RecordedVersion,
  type SnapshotPointer,
  type VersionBundle,
} from "../../core/state/version-bundle.ts";
import type { Store, StoredEvent } from "../../core/store/store.ts";
import type { StatePoint } from "../../core/store/tables.ts";
import { assert } from "../../core/values/assert.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest, Instant, RunId, Tenant } from "../../core/values/ids.ts";
import { GENESIS_HASH, JournalCodec } from "../journal/journal-codec.ts";
import { snapshotBlobName } from "./snapshot-writer.ts";

/** The versions that lead to a point of a state. */
export interface StateHistory {
  /** The whole state at the start and its version; null if the history starts at `base`. */
  readonly whole: { readonly state: ProjectState; readonly at: RecordedVersion } | null;
  /** Null if the history starts with the empty state. */
  readonly base: StatePoint | null;
  /** The versions after the start, oldest first. */
  readonly versions: readonly RecordedVersion[];
}

/** How far to read back, and which versions to return. */
interface HistoryQuery {
  /** True if the caller has the state at this point. */
  isKnown(point: StatePoint): boolean;
  /** True if the read may end at this version, provided that a whole state is stored for it. */
  isFarEnough(version: RecordedVersion, newest: RecordedVersion): boolean;
  /** False if the caller needs neither this version nor later ones. */
  isWanted(version: RecordedVersion): boolean;
}

/** Reads back from a point as far as the query says. */
export async function readStateHistory(
  reader: StateHistoryReader,
  { isKnown, isFarEnough: isEnough, isWanted }: HistoryQuery,
): Promise<StateHistory> {
  const found: RecordedVersion[] = [];
  let newest: RecordedVersion | null = null;
  for (let { base } = reader; base !== null && !isKnown(base); { base } = reader) {
    const { versions, kept } = await reader.readNext();
    const last = versions.at(-1) as RecordedVersion;
    newest ??= last;
    const state = kept !== null && isEnough(last, newest) ? await reader.readWholeState(kept) : null;
    if (state !== null) return { whole: { state, at: last }, base, versions: found.reverse() };
    const known = versions.findLastIndex(({ point }) => isKnown(point));
    for (const version of versions.slice(known + 1).reverse())
      if (found.length > 0 || isWanted(version)) found.push(version);
    if (known >= 0) return { whole: null, base: (versions[known] as RecordedVersion).point, versions: found.reverse() };
  }
  return { whole: null, base: reader.base, versions: found.reverse() };
}

/** A read part of the history, with its snapshot; null if it was read from an event. */
interface HistoryPart extends VersionBundle {
  readonly kept: SnapshotPointer | null;
}

/** Reads back from a point, newest first: from snapshots where they exist, else from events. */
export class StateHistoryReader {
  /** The point at which the next part ends; null before the first version. */
  base: StatePoint | null;
  readonly #bundles: SnapshotBundles;
  readonly #pages: EventPageCache;

  constructor(store: Store, tenant: Tenant, from: StatePoint | null) {
    this.base = from;
    this.#bundles = new SnapshotBundles(store, tenant);
    this.#pages = new EventPageCache(store, tenant);
  }

  /** The snapshot that ends where the next part ends, or null. */
  get nextBundle(): SnapshotPointer | null {
    return this.#bundles.next;
  }

  async readNext(): Promise<HistoryPart> {
    const { base: point, nextBundle: pointer } = this;
    assert(point !== null, "there is nothing before the first version");
    const bundle = pointer && (await this.#bundles.bundle(pointer, point));
    return bundle === null ? this.readNextEvent() : this.#moveBack({ ...bundle, kept: pointer });
  }

  /** Reads the next part from its event, without snapshots. */
  async readNextEvent(): Promise<HistoryPart> {
    assert(this.base !== null, "there is nothing before the first version");
    return this.#moveBack({ ...(await this.#pages.bundleAt(this.base)), kept: null });
  }

  #moveBack(part: HistoryPart): HistoryPart {
    for (const version of part.versions.toReversed()) this.#bundles.note(version);
    this.base = part.base;
    return part;
  }

  /** Returns the whole state of a snapshot, or null if it has none or the blob is gone. */
  async readWholeState({ whole }: SnapshotPointer): Promise<ProjectState | null> {
    const text = whole === undefined ? null : await this.readBlobText(whole);
    return text === null ? null : decodeState(text);
  }

  /** Returns the text of a blob, or null if it is gone or its content does not match its name. */
  readBlobText(name: Digest): Promise<string | null> {
    return this.#bundles.read(name);
  }
}

/** The snapshots that the read versions name. */
class SnapshotBundles {
  readonly #store: Store;
  readonly #tenant: Tenant;
  /** The next version to read. */
  #next: { readonly project: string; readonly version: number } | null = null;
  readonly #kept = new Map<number, SnapshotPointer>();

  constructor(store: Store, tenant: Tenant) {
    this.#store = store;
    this.#tenant = tenant;
  }

  note({ project, version, kept }: RecordedVersion): void {
    if (project !== this.#next?.project) this.#kept.clear();
    this.#next = { project, version: version - 1 };
    if (kept !== undefined) this.#kept.set(kept.version, kept);
  }

  get next(): SnapshotPointer | null {
    return this.#kept.get(this.#next?.version ?? -1) ?? null;
  }

  /** Returns the versions up to a point, or null if the blob is gone or ends at another point. */
  async bundle({ changes }: SnapshotPointer, point: StatePoint): Promise<VersionBundle | null> {
    const text = await this.read(changes);
    const bundle = text === null ? null : decodeBundle(text);
    return bundle?.versions.at(-1)?.point.commit === point.commit ? bundle : null;
  }

  async read(name: Digest): Promise<string | null> {
    const bytes = await this.#store.blob(this.#tenant, name);
    if (bytes === null) return null;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
    return snapshotBlobName(text) === name ? text : null;
  }
}

/** Consecutive versions are often in the journal of one run. */
const PAGE_SIZE = 200;

/** Consecutive versions may also alternate between a few runs. */
const CACHED_RUNS_MAX = 8;

/** Reads journals backwards, one page at a time. */
export class EventPageCache {
  readonly #store: Store;
  readonly #tenant: Tenant;
  readonly #pages = new Map<RunId, readonly StoredEvent[]>();

  constructor(store: Store, tenant: Tenant) {
    this.#store = store;
    this.#tenant = tenant;
  }

  async bundleAt(point: StatePoint): Promise<VersionBundle> {
    const event = await this.eventAt(point);
    const change = event !== null && "state" in event ? event.state : undefined;
    if (event !== null && change?.commit === point.commit)
      return { base: change.upon, versions: [versionRecordOf(change, point, event.at)] };
    const { run_id, position } = point;
    const message = `event ${position} of run ${run_id} does not contain the state version that a later one names; audit the run`;
    throw new FaultError(fault("CHAIN_BROKEN", message));
  }

  async eventAt({ run_id, position }: StatePoint): Promise<Event | null> {
    const stored = this.#found(run_id, position) ?? (await this.#turnTo(run_id, position));
    return stored === null ? null : new JournalCodec(this.#tenant, run_id).open<Event>(stored, this.#store);
  }

  #found(run: RunId, position: number): StoredEvent | null {
    return this.#pages.get(run)?.find((event) => event.position === position) ?? null;
  }

  async #turnTo(run: RunId, position: number): Promise<StoredEvent | null> {
    const before = Math.max(0, position - PAGE_SIZE);
    const found = await this.#store.events(this.#tenant, run, before, position - before);
    const [first, ...rest] = found;
    const journal = new JournalCodec(this.#tenant, run);
    if (first !== undefined && before === 0) journal.assertIntact([first], GENESIS_HASH);
    if (first !== undefined) journal.assertIntact(rest, first.hash, first.position);
    this.#keep(run, before === 0 ? found : rest);
    return this.#found(run, position);
  }

  #keep(run: RunId, page: readonly StoredEvent[]): void {
    this.#pages.delete(run);
    this.#pages.set(run, page);
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > CACHED_RUNS_MAX && oldest !== undefined) this.#pages.delete(oldest);
  }
}

export function versionRecordOf(
  { project, version, patch, kept }: StateChange,
  point: StatePoint,
  at: Instant,
): RecordedVersion {
  return { project, version, at, point, patch, ...(kept && { kept }) };
}
