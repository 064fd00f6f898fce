import { assert } from "../../core/assert.ts";
import type { Event } from "../../core/event.ts";
import { FaultError, fault } from "../../core/fault.ts";
import type { Digest, Instant, RunId, Tenant } from "../../core/id.ts";
import type { StatePoint } from "../../core/rows.ts";
import { type Bundle, bundleFrom, type Kept, type Told, wholeFrom } from "../../core/state/kept.ts";
import type { ProjectState } from "../../core/state/project-state.ts";
import type { StateChange } from "../../core/state/state-change.ts";
import type { Store, StoredEvent } from "../../core/store.ts";
import { GENESIS, Journal } from "../record/journal.ts";
import { keptName } from "./keeping.ts";

/** What led to a point of a state. */
export interface Past {
  /** All of the state where it begins, and the version that left it so; null: it begins where `upon` is told. */
  readonly whole: { readonly state: ProjectState; readonly at: Told } | null;
  /** Null: it begins with nothing. */
  readonly upon: StatePoint | null;
  /** What came after that, oldest first. */
  readonly told: readonly Told[];
}

/** How far to go back, and what to bring along. */
interface Journey {
  /** The traveller knows what led there. */
  isKnown(point: StatePoint): boolean;
  /** It is far enough, if all of the state is kept as this version left it. */
  isEnough(told: Told, newest: Told): boolean;
  /** False: neither this one nor what came after it is asked for. */
  isWanted(told: Told): boolean;
}

/** Goes back from a point as far as the journey says. */
export async function pastOf(trail: Trail, { isKnown, isEnough, isWanted }: Journey): Promise<Past> {
  const met: Told[] = [];
  let newest: Told | null = null;
  for (let { upon } = trail; upon !== null && !isKnown(upon); { upon } = trail) {
    const { told, kept } = await trail.next();
    const last = told.at(-1) as Told;
    newest ??= last;
    const state = kept !== null && isEnough(last, newest) ? await trail.wholeOf(kept) : null;
    if (state !== null) return { whole: { state, at: last }, upon, told: met.reverse() };
    const known = told.findLastIndex(({ point }) => isKnown(point));
    for (const one of told.slice(known + 1).reverse()) if (met.length > 0 || isWanted(one)) met.push(one);
    if (known >= 0) return { whole: null, upon: (told[known] as Told).point, told: met.reverse() };
  }
  return { whole: null, upon: trail.upon, told: met.reverse() };
}

/** Versions on the way back, and what they are kept in; null: an event told them. */
interface Piece extends Bundle {
  readonly kept: Kept | null;
}

/** The way back from a point, newest first: by what is kept in one piece where that is there, else by the events. */
export class Trail {
  /** Where the next piece ends; null: before the first version of all. */
  upon: StatePoint | null;
  readonly #shelf: Shelf;
  readonly #pages: Pages;

  constructor(store: Store, tenant: Tenant, from: StatePoint | null) {
    this.upon = from;
    this.#shelf = new Shelf(store, tenant);
    this.#pages = new Pages(store, tenant);
  }

  /** What is said to be kept up to where the next piece ends; null: nothing is. */
  get said(): Kept | null {
    return this.#shelf.said;
  }

  async next(): Promise<Piece> {
    const { upon: point, said } = this;
    assert(point !== null, "nothing was before the first version");
    const bundle = said && (await this.#shelf.bundle(said, point));
    return bundle === null ? this.nextEvent() : this.#passed({ ...bundle, kept: said });
  }

  /** As if nothing were kept. */
  async nextEvent(): Promise<Piece> {
    assert(this.upon !== null, "nothing was before the first version");
    return this.#passed({ ...(await this.#pages.bundleAt(this.upon)), kept: null });
  }

  #passed(piece: Piece): Piece {
    for (const one of piece.told.toReversed()) this.#shelf.note(one);
    this.upon = piece.upon;
    return piece;
  }

  /** All of the state; null: it is not kept there, or is gone. */
  async wholeOf({ whole }: Kept): Promise<ProjectState | null> {
    const text = whole === undefined ? null : await this.textOf(whole);
    return text === null ? null : wholeFrom(text);
  }

  /** What is kept under a name; null: it is gone, or is not what was kept. */
  textOf(name: Digest): Promise<string | null> {
    return this.#shelf.read(name);
  }
}

/** What is kept in one piece, as far as the versions that were met have said. */
class Shelf {
  readonly #store: Store;
  readonly #tenant: Tenant;
  /** What comes next, and is not met yet. */
  #next: { readonly project: string; readonly version: number } | null = null;
  readonly #kept = new Map<number, Kept>();

  constructor(store: Store, tenant: Tenant) {
    this.#store = store;
    this.#tenant = tenant;
  }

  note({ project, version, kept }: Told): void {
    if (project !== this.#next?.project) this.#kept.clear();
    this.#next = { project, version: version - 1 };
    if (kept !== undefined) this.#kept.set(kept.version, kept);
  }

  get said(): Kept | null {
    return this.#kept.get(this.#next?.version ?? -1) ?? null;
  }

  /** The versions up to a point; null: they are not kept any more, or it is not what it is said to be. */
  async bundle({ changes }: Kept, point: StatePoint): Promise<Bundle | null> {
    const text = await this.read(changes);
    const bundle = text === null ? null : bundleFrom(text);
    return bundle?.told.at(-1)?.point.commit === point.commit ? bundle : null;
  }

  async read(name: Digest): Promise<string | null> {
    const bytes = await this.#store.blob(this.#tenant, name);
    if (bytes === null) return null;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
    return keptName(text) === name ? text : null;
  }
}

/** Versions that follow each other are often told by the same run. */
const PAGE = 200;

/** Or by a few runs in turn. */
const RUNS = 8;

/** Journals, read backwards a page at a time. */
export class Pages {
  readonly #store: Store;
  readonly #tenant: Tenant;
  readonly #pages = new Map<RunId, readonly StoredEvent[]>();

  constructor(store: Store, tenant: Tenant) {
    this.#store = store;
    this.#tenant = tenant;
  }

  async bundleAt(point: StatePoint): Promise<Bundle> {
    const event = await this.eventAt(point);
    const change = event !== null && "state" in event ? event.state : undefined;
    if (event !== null && change?.commit === point.commit)
      return { upon: change.upon, told: [toldBy(change, point, event.at)] };
    const { run_id, position } = point;
    const message = `event ${position} of run ${run_id} does not tell the state that is said to be there; audit the run`;
    throw new FaultError(fault("CHAIN_BROKEN", message));
  }

  async eventAt({ run_id, position }: StatePoint): Promise<Event | null> {
    const stored = this.#found(run_id, position) ?? (await this.#turnTo(run_id, position));
    return stored === null ? null : new Journal(this.#tenant, run_id).open<Event>(stored, this.#store);
  }

  #found(run: RunId, position: number): StoredEvent | null {
    return this.#pages.get(run)?.find((event) => event.position === position) ?? null;
  }

  async #turnTo(run: RunId, position: number): Promise<StoredEvent | null> {
    const before = Math.max(0, position - PAGE);
    const found = await this.#store.events(this.#tenant, run, before, position - before);
    const [first, ...rest] = found;
    const journal = new Journal(this.#tenant, run);
    if (first !== undefined && before === 0) journal.assertIntact([first], GENESIS);
    if (first !== undefined) journal.assertIntact(rest, first.hash, first.position);
    this.#keep(run, before === 0 ? found : rest);
    return this.#found(run, position);
  }

  #keep(run: RunId, page: readonly StoredEvent[]): void {
    this.#pages.delete(run);
    this.#pages.set(run, page);
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > RUNS && oldest !== undefined) this.#pages.delete(oldest);
  }
}

export function toldBy({ project, version, patch, kept }: StateChange, point: StatePoint, at: Instant): Told {
  return { project, version, at, point, patch, ...(kept && { kept }) };
}
