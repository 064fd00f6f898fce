import type { Entry } from "../../core/store/store.ts";
import type { Epoch, RunId, Tenant } from "../../core/values/ids.ts";
import type { EventInserts } from "./event-inserts.ts";
import type { SqliteStatements } from "./statements.ts";

/** The number of heads above which all are forgotten. */
const REMEMBERED_MAX = 10_000;

/** The head of a journal, with the events of the transaction that wait for their insert. */
interface KnownHead {
  readonly journal: number;
  position: number;
  /** True if the row of the head is at that position. */
  isWritten: boolean;
  /** The epoch of the lease of the run. Undefined: it has none, or it was not read. */
  epoch: Epoch | undefined;
}

/**
 * The heads of the journals that this connection has read or written. They count only inside a transaction, and only if
 * no other connection has written since: its data version, which is read when it has begun, says so. A process that is
 * alone on the file reads no head and no epoch before it appends.
 */
export class KnownHeads {
  readonly #statements: SqliteStatements;
  readonly #events: EventInserts;
  readonly #known = new Map<Tenant, Map<RunId, KnownHead>>();
  #dataVersion: number | null = null;
  #size = 0;

  constructor(statements: SqliteStatements, events: EventInserts) {
    this.#statements = statements;
    this.#events = events;
    statements.epochChanges.onChange = (tenant, run) => {
      if (tenant === undefined || run === undefined) this.#forgetEpochs();
      else this.#forgetEpoch(this.#known.get(tenant)?.get(run));
    };
  }

  /** Called when a transaction has begun, with its data version. */
  begin(dataVersion: number): void {
    if (dataVersion !== this.#dataVersion || this.#size >= REMEMBERED_MAX) this.forgetAll();
    this.#dataVersion = dataVersion;
  }

  /** Returns the position of the last event of a run. Null: it has no head. */
  positionOf(tenant: Tenant, run: RunId): number | null {
    return this.#of(tenant, run)?.position ?? null;
  }

  /**
   * Moves the head of the run of an entry, whose events are inserted before the end of the transaction. `isWritten`: the
   * row moves too. Returns the number of the journal, or null if position or epoch is not the expected one.
   */
  move({ tenant, run, expect }: Entry, position: number, isWritten: boolean): number | null {
    const head = this.#of(tenant, run);
    if (head?.position !== expect.position) return null;
    if (expect.epoch !== null) {
      head.epoch ??= (this.#statements.epoch.get(tenant, run)?.epoch ?? undefined) as Epoch | undefined;
      if (head.epoch !== expect.epoch) return null;
    }
    head.position = position;
    head.isWritten = isWritten;
    return head.journal;
  }

  /** Adds the head of a new journal, which has its row. */
  add(tenant: Tenant, run: RunId, journal: number, position: number): void {
    this.#remember(tenant, run, { journal, position, isWritten: true, epoch: undefined });
  }

  /** Writes the row of a head that may be behind, before the worker releases the run. */
  writeRow(tenant: Tenant, run: RunId): void {
    const known = this.#known.get(tenant)?.get(run);
    if (known?.isWritten === true) return;
    this.#events.flush();
    this.#statements.catchUpHead.run(tenant, run);
    if (known !== undefined) known.isWritten = true;
  }

  #of(tenant: Tenant, run: RunId): KnownHead | null {
    const known = this.#known.get(tenant)?.get(run);
    if (known !== undefined) return known;
    const found = this.#statements.head.get(tenant, run);
    if (found === undefined) return null;
    const head = { journal: found[2], position: found[0], isWritten: false, epoch: undefined };
    this.#remember(tenant, run, head);
    return head;
  }

  #remember(tenant: Tenant, run: RunId, head: KnownHead): void {
    const own = this.#known.get(tenant) ?? new Map<RunId, KnownHead>();
    this.#known.set(tenant, own.set(run, head));
    this.#size += 1;
  }

  /** Called when a condition failed: the head is read again, from its events. */
  forget(tenant: Tenant, run: RunId): void {
    this.#events.flush();
    this.#known.get(tenant)?.delete(run);
  }

  /** Called when no events wait. */
  forgetAll(): void {
    this.#known.clear();
    this.#size = 0;
  }

  #forgetEpoch(head: KnownHead | undefined): void {
    if (head !== undefined) head.epoch = undefined;
  }

  #forgetEpochs(): void {
    for (const heads of this.#known.values()) for (const head of heads.values()) head.epoch = undefined;
  }
}
