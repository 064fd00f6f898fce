import type { Clock } from "../ports/clock.ts";
import type { Digest, Epoch, Instant, RunId, StepId, Tenant, WorkerId } from "../values/ids.ts";
import type { RowSearch } from "./row-search.ts";
import type { Table } from "./tables.ts";

/**
 * The database of the journals. Recovery relies on four promises of every implementation: an entry is written
 * completely or not at all; its conditions are checked in the same transaction that writes it; a hard entry is on disk,
 * with everything appended before it, when `append` resolves; and the store never interprets a row.
 */
export interface Store {
  /** The clock for leases, expiries and timers. */
  readonly clock: Clock;
  /**
   * How long a lease is relied on without being renewed. Where leases end by time, it is also how long a lease lasts.
   */
  readonly leaseMs: number;

  /**
   * Writes the entries in order. A failed entry writes nothing and fails the later entries of its run. Rejects with a
   * STORE_* fault if nothing was written.
   */
  append(entries: readonly Entry[]): Promise<readonly AppendResult[]>;

  /** The events of a run after a position, oldest first; all of them, or the first `most`. */
  events(tenant: Tenant, run: RunId, after: number, most?: number): Promise<readonly StoredEvent[]>;
  head(tenant: Tenant, run: RunId): Promise<Head | null>;
  /**
   * Returns journals that have an event or a head, in the order of their ids, after an id, each with all of its events:
   * at most `most` of them, and none only if there are no more.
   */
  journals(tenant: Tenant, after: string, most: number): Promise<readonly StoredJournal[]>;
  /** Returns the changes of others to the runs that a worker holds, in the order given: one query for all of them. */
  heldRuns(claims: readonly Claim[]): Promise<readonly HeldRun[]>;
  row(tenant: Tenant, table: Table, key: string): Promise<StoredRow | null>;
  list(tenant: Tenant, query: Query): Promise<readonly StoredRow[]>;
  /**
   * Searches the rows of a table by their tags (row-tags.ts), in the order of their keys. Reads at most
   * `SEARCH_ROWS_MAX` index entries, so a page can have fewer rows than the limit although more follow.
   */
  search(tenant: Tenant, search: RowSearch): Promise<FoundRows>;
  /** Counts the rows that a search finds, up to `most`. */
  count(tenant: Tenant, search: Omit<RowSearch, "order" | "after" | "limit">, most: number): Promise<number>;
  /** Returns runs of all tenants, at most `most`, whose rows an older version wrote. */
  outdatedRuns(most: number): Promise<readonly Pick<Entry, "tenant" | "run">[]>;
  /** Records that the rows of a run are of this version. */
  markRefolded(tenant: Tenant, run: RunId): Promise<void>;
  /** Returns the rows that the store has copied to indexes or queues of its own and that differ from their copies. */
  wrongCopies(tenant: Tenant): Promise<readonly RowName[]>;
  used(tenant: Tenant, tally: string): Promise<number>;
  /** Returns the ids of runs that have an event or a head, in order, after an id: the first `most`. */
  runs(tenant: Tenant, after: string, most: number): Promise<readonly RunId[]>;
  /** Returns the tallies in the order of their names, after a name: the first `most`. */
  tallies(tenant: Tenant, after: string, most: number): Promise<readonly Tally[]>;

  /** Claims one run if no live worker holds it. The epoch of the claim is greater than any before it. */
  claim(worker: WorkerId, tenant: Tenant, run: RunId): Promise<Claim | null>;
  /**
   * Claims up to `limit` runs whose timer is due and that no live worker holds; then, if `limit` is not reached, runs
   * that need something the worker offers. The only call across tenants, which it serves fairly (fair-queue.ts). The
   * limits in `terms` hold across workers if all workers use the same ones. Records the rules and offers of the worker.
   */
  claimDue(worker: WorkerId, limit: number, terms?: ClaimTerms): Promise<readonly Claim[]>;
  /** Records that a worker claims no more runs: other workers may claim runs with its rules. It keeps its leases. */
  retireWorker(worker: WorkerId): Promise<void>;
  /**
   * Renews leases of a worker, and returns those of the claims that are lost. A lease that the worker holds and does not
   * renew for `leaseMs` ends as if the worker had died.
   */
  renew(worker: WorkerId, claims: readonly Claim[]): Promise<readonly Claim[]>;
  /**
   * Returns the worker that held the run before this claim and did not release it; null if there is none, or if the run
   * has been claimed again.
   */
  predecessor(claim: Claim): Promise<WorkerId | null>;
  /**
   * Releases a run; ignored if the epoch has changed. If another worker asks for the run, that worker holds it from now
   * on: its next claim succeeds, and no other worker can claim the run before.
   */
  release(claim: Claim): Promise<void>;
  /**
   * Asks the worker that holds a run to release it. Returns whether another worker holds the run. The latest request
   * counts; it ends as a lease of the asking worker would end that is not renewed.
   */
  ask(worker: WorkerId, tenant: Tenant, run: RunId): Promise<boolean>;
  /** Withdraws the request of a worker for a run. */
  withdrawAsk(worker: WorkerId, tenant: Tenant, run: RunId): Promise<void>;
  /** Returns the leases of a tenant in the order of their runs, after a run: the first `most`. */
  holdings(tenant: Tenant, after: string, most: number): Promise<readonly RunLease[]>;
  /** Returns the earliest due time of the timers that are not due yet, or null. */
  nextDue(): Promise<Instant | null>;

  /**
   * Writes the send marker of one attempt, unsynced, and counts it. False if the epoch or the worker of the lease has
   * changed: then the tool must not be called.
   */
  mark(claim: Claim, step: StepId, attempt: number): Promise<boolean>;
  /**
   * Returns whether the marker of an attempt started under `boot` was written; `unknown` if it may have been lost, or
   * if the run has fewer or more markers than were counted.
   */
  marked(tenant: Tenant, run: RunId, step: StepId, attempt: number, boot: string): Promise<"yes" | "no" | "unknown">;
  /**
   * Returns the runs that have an epoch, a lease or send markers, with them, in the order of their ids, after an id: the
   * first `most`.
   */
  claims(tenant: Tenant, after: string, most: number): Promise<readonly RunClaims[]>;
  /** As long as this value is unchanged, a missing marker was never written. */
  readonly boot: string;

  /** Content-addressed, so writing twice is harmless. Durable with the next hard append. */
  putBlob(tenant: Tenant, hash: Digest, bytes: Uint8Array): Promise<void>;
  blob(tenant: Tenant, hash: Digest): Promise<Uint8Array | null>;

  /**
   * Erases bodies and blobs and keeps the hash of each body, computed by `hashOf`. Returns the number of erased bodies,
   * or null if the run has new events: then nothing is erased.
   */
  erase(what: Erasure, hashOf: (body: string) => Uint8Array): Promise<number | null>;
  /** Removes what was erased from the log of the database too, without waiting for other processes. */
  truncateLog(): Promise<LogState>;
  /**
   * Begins a retention or a backup, and returns the function that ends it. Null: another one is under way on this store.
   * It also ends with the process.
   */
  beginMaintenance(): Promise<(() => void) | null>;

  /**
   * Calls `hint` when another process may have written. Only a hint; callers must also poll. A store that polls looks
   * more often while `isWaiting` returns true.
   */
  watch(hint: () => void, isWaiting?: () => boolean): () => void;
  /**
   * Returns a number that changes when another process has written. Null: the store cannot tell without a request, and
   * the caller relies on the age of what it has read.
   */
  changes(): number | null;
  /** Registers a worker of this process, before its first claim. Its leases end at the latest when `close` resolves. */
  registerWorker(worker: WorkerId, terms?: ClaimTerms): Promise<void>;
  /**
   * Returns the workers that are live as far as the store knows, in the order of their ids. While a worker is listed, a
   * call that it has begun may still happen, also if it has lost its leases.
   */
  workers(): Promise<readonly LiveWorker[]>;
  /** Absent if the database has its own tools for backups. */
  readonly copies?: StoreCopies;
  close(): Promise<void>;
}

/**
 * Whether erased data is still in the log of the database. `pending`: it is, because a process still reads the log.
 * `server`: a database server has a log of its own, which Writ does not reach.
 */
export type LogState = "empty" | "pending" | "server";

/** Copies of a store that is one file. */
export interface StoreCopies {
  /** Returns the tenants that have a journal, also the owner of rows that apply to all tenants. */
  tenants(): Promise<readonly Tenant[]>;
  /** Prepares a copy of the store in a new file. Throws a fault if the file exists; nothing is ever overwritten. */
  begin(file: string): StoreCopy;
  /** Opens a finished copy. Null: there is no such file. */
  open(file: string): { readonly store: Store; readonly bytes: number } | null;
}

/** A copy under way. It has a temporary name until it is whole, so a crash leaves no file with the name of the copy. */
export interface StoreCopy {
  /** Writes everything that is committed, in one consistent state, and opens the copy. Other processes can go on. */
  write(): Promise<Store>;
  /** Closes the copy, syncs it to disk and gives it its name. Returns its size in bytes. */
  publish(): Promise<number>;
  /** Removes the copy. */
  discard(): Promise<void>;
}

/** One fact with its conditions and the rows that follow from it. */
export interface Entry {
  readonly tenant: Tenant;
  readonly run: RunId;
  readonly expect: {
    /** The number of events of the run. 0: the run must be new. */
    readonly position: number;
    /** Null for a command from outside: submit, approve, resolve, … */
    readonly epoch: Epoch | null;
  };
  readonly events: readonly SealedEvent[];
  readonly puts: readonly Put[];
  readonly charges: readonly Charge[];
  readonly checks: readonly Check[];
  /** hard: synced to disk with everything before it. soft: survives a crash of the process, not of the machine. */
  readonly flush: "hard" | "soft";
}

/** An event as it is stored. The body is exactly the text that was hashed and is never serialised again. */
export interface SealedEvent {
  /** From 1; the n-th event of its run. */
  readonly position: number;
  readonly type: string;
  readonly v: number;
  readonly at: Instant;
  readonly body: string;
  readonly hash: Uint8Array;
}

/** `body` is null after it was erased; `body_hash` is then kept, so that the chain still verifies. */
export interface StoredEvent extends Omit<SealedEvent, "body"> {
  readonly body: string | null;
  readonly body_hash: Uint8Array | null;
}

/** A conditional write of a row. A row is JSON text; null removes it. */
export interface Put {
  readonly table: Table;
  readonly key: string;
  /** null: the row must be new. n: it must have that version. "any": unconditional, version 0. */
  readonly was: number | null | "any";
  readonly row: string | null;
}

/** Refused, with the whole entry, if used + amount > limit. A null limit records and never refuses. */
export interface Charge {
  readonly tally: string;
  readonly amount: number;
  readonly limit: number | null;
}

/** The sum of all charges to a tally. */
export interface Tally {
  readonly tally: string;
  readonly used: number;
}

/** A row that was read, not written: it must still have that version, or still be absent (null). */
export interface Check {
  readonly table: Table;
  readonly key: string;
  readonly was: number | null;
  /**
   * Present: the row is compared when the entry is checked and is not locked, so that a writer of the row never waits
   * for this append. `own` is a row of the tenant, `house` a row of `sharedTenant`.
   */
  readonly glance?: "own" | "house";
}

/** The owner of rows that apply to all tenants. No principal can belong to it, because its name is not printable. */
export const sharedTenant = "\u0001house" as Tenant;

/** Returns the tenant whose row is checked. */
export function checkedTenant(tenant: Tenant, { glance }: Pick<Check, "glance">): Tenant {
  return glance === "house" ? sharedTenant : tenant;
}

export interface RowName {
  readonly table: Table;
  readonly key: string;
}

export interface StoredRow {
  readonly key: string;
  readonly version: number;
  readonly row: string;
}

/**
 * The result of an entry, with the reason if it did not land; the reason determines the next command. If several
 * conditions fail, the order is epoch, position, row, check, charge.
 */
export type AppendResult =
  | { readonly landed: true }
  | { readonly landed: false; readonly why: "epoch" }
  /** `hash`: of the event stored at the entry's first position, if there is one. */
  | { readonly landed: false; readonly why: "position"; readonly position: number; readonly hash: Uint8Array | null }
  | {
      readonly landed: false;
      readonly why: "row" | "check";
      readonly table: Table;
      readonly key: string;
      readonly found: StoredRow | null;
    }
  | {
      readonly landed: false;
      readonly why: "charge";
      readonly tally: string;
      readonly used: number;
      readonly limit: number;
    }
  /** An earlier entry of the same run failed. */
  | { readonly landed: false; readonly why: "earlier" };

/** The events of a run, with the stored head. */
export interface StoredJournal {
  readonly run: RunId;
  readonly head: Head | null;
  readonly events: readonly StoredEvent[];
}

export interface Head {
  readonly position: number;
  readonly hash: Uint8Array;
}

/** The right to execute one run, until another worker claims it. */
export interface Claim {
  readonly tenant: Tenant;
  readonly run: RunId;
  readonly worker: WorkerId;
  readonly epoch: Epoch;
}

/** The runs that a worker claims, and the limits on leased runs over all workers. */
export interface ClaimTerms {
  /** Only runs of these queues. Absent: all queues. */
  readonly queues?: readonly string[];
  /** The number of runs of each queue at once. Absent: no limit. */
  readonly perQueue?: Readonly<Record<string, number>>;
  /** The number of runs of one tenant at once. Absent: no limit. */
  readonly perTenant?: number;
  /** The things that this worker has and others may lack: it claims runs that need one of them (see `TimerRow`). */
  readonly offers?: readonly string[];
  /** The digest of the rules of this worker. It claims a run with other rules only if no live worker has those. */
  readonly rules?: Digest;
}

/** The changes of others to a run that a worker holds. */
export interface HeldRun {
  /** The number of events of the run. */
  readonly position: number;
  /** True if another worker asks for the run. */
  readonly wanted: boolean;
}

/** A registered worker. */
export interface LiveWorker {
  readonly worker: WorkerId;
  /** The digest of its rules. Null: it claims no more runs. */
  readonly rules: Digest | null;
  /** The things that it has and others may lack. */
  readonly offers: readonly string[];
  readonly process: WorkerProcess;
}

/** The process of a worker. */
export interface WorkerProcess {
  /** The version of Writ. */
  readonly version: string;
  readonly host: string;
  readonly pid: number;
}

/** A run that a worker holds. */
export interface RunLease {
  readonly run: RunId;
  readonly worker: WorkerId;
  readonly epoch: Epoch;
  /** Null: the run has no timer, and the worker is about to release it. */
  readonly queue: string | null;
  readonly since: Instant;
  /** When the lease ends unless it is renewed. Null: when the worker releases the run or is evicted. */
  readonly until: Instant | null;
}

/** The epoch of a run, its lease and its send markers. */
export interface RunClaims {
  readonly run: RunId;
  /** The epoch of the last claim. Null: the run was never claimed. */
  readonly epoch: number | null;
  /** Null: no worker holds the run. A lease without a worker is damaged. */
  readonly lease: { readonly worker: WorkerId | null; readonly epoch: number } | null;
  readonly markers: readonly { readonly step: StepId; readonly attempt: number; readonly epoch: number }[];
  /** The number of markers that were written. */
  readonly sent: number;
}

/** The data that retention erases from a run: the bodies of its events except those in `keep`, and the listed blobs. */
export interface Erasure {
  readonly tenant: Tenant;
  readonly run: RunId;
  /** The number of events of the run when the erasure was decided. */
  readonly position: number;
  /** Positions whose bodies stay. */
  readonly keep: readonly number[];
  readonly blobs: readonly Digest[];
}

/** A page of a search. */
export interface FoundRows {
  readonly rows: readonly StoredRow[];
  /** The key after which the search continues. Null: no more rows follow. */
  readonly next: string | null;
}

/** Rows of one table, by key; `where` may name an indexed field (tables.ts). */
export interface Query {
  readonly table: Table;
  readonly where?: { readonly field: string; readonly equals: string | number };
  /** Only keys after this one in the given order. */
  readonly after?: string;
  readonly order: "oldest" | "newest";
  readonly limit: number;
}
