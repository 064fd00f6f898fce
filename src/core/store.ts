import type { Digest, Epoch, Instant, RunId, StepId, Tenant, WorkerId } from "./id.ts";
import type { Table } from "./rows.ts";
import type { Clock } from "./time/clock.ts";

/**
 * Where journals live. Recovery rests on four promises of every implementation:
 * an entry lands whole or not at all; its conditions are judged in the same transaction that writes it;
 * a hard entry is on disk, with everything appended before it, when its answer comes back;
 * and the store knows no rules: it never asks what a row means.
 */
export interface Store {
  /** The time that leases, expiries and timers are judged by. */
  readonly clock: Clock;
  /** How long a claim holds without being renewed. */
  readonly leaseMs: number;

  /** In order. A failed entry writes nothing and fails the later entries of its run. Rejects with a STORE_* fault if nothing was written. */
  append(entries: readonly Entry[]): Promise<readonly Landing[]>;

  /** The events of a run after a position, oldest first; all of them, or the first `most`. */
  events(tenant: Tenant, run: RunId, after: number, most?: number): Promise<readonly StoredEvent[]>;
  head(tenant: Tenant, run: RunId): Promise<Head | null>;
  /**
   * What has left a trace in the journal, an event or a head, after an id and in order, each with all of its events. Some of
   * them, at most so many: none only if there are none.
   */
  journals(tenant: Tenant, after: string, most: number): Promise<readonly StoredJournal[]>;
  /** How many events each of these runs has, in their order: one question for all that a worker holds. */
  positions(runs: readonly Pick<Claim, "tenant" | "run">[]): Promise<readonly number[]>;
  row(tenant: Tenant, table: Table, key: string): Promise<StoredRow | null>;
  list(tenant: Tenant, query: Query): Promise<readonly StoredRow[]>;
  used(tenant: Tenant, tally: string): Promise<number>;
  /** The ids of runs that have left a trace in the journal, an event or a head, after an id and in order: the first `most`. */
  runs(tenant: Tenant, after: string, most: number): Promise<readonly RunId[]>;
  /** What was charged to each tally, after a name and in order: the first `most`. */
  tallies(tenant: Tenant, after: string, most: number): Promise<readonly Tally[]>;

  /** Takes one run, if nobody living holds it. The epoch in the answer is greater than any before it. */
  claim(worker: WorkerId, tenant: Tenant, run: RunId): Promise<Claim | null>;
  /**
   * Takes up to `limit` runs whose timer is due and that nobody living holds; then, if there is room left, of those that need
   * something the worker offers. The one call across tenants, which take turns (turns.ts). Limits hold across workers, as
   * far as all claim with the same ones.
   */
  claimDue(worker: WorkerId, limit: number, terms?: ClaimTerms): Promise<readonly Claim[]>;
  /** Keeps the leases alive. Answers with the claims that are lost. */
  renew(claims: readonly Claim[]): Promise<readonly Claim[]>;
  /** Who held the run before this claim and never gave it back; null if nobody did, or if it is claimed again by now. */
  predecessor(claim: Claim): Promise<WorkerId | null>;
  /** Gives a run back; ignored if the epoch has moved on. */
  release(claim: Claim): Promise<void>;
  /** Who holds which run of a tenant, after a run and in order: the first `most`. */
  holdings(tenant: Tenant, after: string, most: number): Promise<readonly Holding[]>;
  /** When the earliest timer that is not yet due falls due. */
  nextDue(): Promise<Instant | null>;

  /** Writes the send marker of one attempt, unsynced. False if the epoch has moved: then the tool must not be called. */
  mark(claim: Claim, step: StepId, attempt: number): Promise<boolean>;
  /** Whether the marker of an attempt started under `boot` was written; `unknown` if it may have been lost. */
  marked(tenant: Tenant, run: RunId, step: StepId, attempt: number, boot: string): Promise<"yes" | "no" | "unknown">;
  /** While this stays the same, a marker that is not there was never written. */
  readonly boot: string;

  /** Content-addressed, so writing twice is harmless. Durable with the next hard append. */
  putBlob(tenant: Tenant, hash: Digest, bytes: Uint8Array): Promise<void>;
  blob(tenant: Tenant, hash: Digest): Promise<Uint8Array | null>;

  /**
   * Erases bodies and blobs; what `hashOf` makes of a body stays. Answers how many bodies, or null if the run has moved on:
   * then nothing is erased.
   */
  erase(what: Erasure, hashOf: (body: string) => Uint8Array): Promise<number | null>;

  /** Calls back when another process may have written. A hint; polling is the truth. */
  watch(hint: () => void): () => void;
  /** Becomes the executing worker. Rejects with STORE_BUSY where only one may be and another is. */
  lockWorker(): Promise<void>;
  close(): Promise<void>;
}

/** One fact with its conditions and the rows that follow from it. */
export interface Entry {
  readonly tenant: Tenant;
  readonly run: RunId;
  readonly expect: {
    /** How many events the run has. 0: the run must be new. */
    readonly position: number;
    /** Null is a command from outside: submit, approve, resolve, … */
    readonly epoch: Epoch | null;
  };
  readonly events: readonly SealedEvent[];
  readonly puts: readonly Put[];
  readonly charges: readonly Charge[];
  readonly checks: readonly Check[];
  /** hard: synced to disk with all before it. soft: survives the process, not the machine. */
  readonly flush: "hard" | "soft";
}

/** An event as bytes. The body is exactly what was hashed and is never serialised again. */
export interface SealedEvent {
  /** From 1; the n-th event of its run. */
  readonly position: number;
  readonly type: string;
  readonly v: number;
  readonly at: Instant;
  readonly body: string;
  readonly hash: Uint8Array;
}

/** `body` is null once it was erased; `body_hash` is kept then, so that the chain still verifies. */
export interface StoredEvent extends Omit<SealedEvent, "body"> {
  readonly body: string | null;
  readonly body_hash: Uint8Array | null;
}

/** The one conditional primitive. A row is JSON text; null removes it. */
export interface Put {
  readonly table: Table;
  readonly key: string;
  /** null: must be new. n: must have that version. "any": a read model, written blindly, version 0. */
  readonly was: number | null | "any";
  readonly row: string | null;
}

/** Refused, with the whole entry, if used + amount > limit. A null limit records and never refuses. */
export interface Charge {
  readonly tally: string;
  readonly amount: number;
  readonly limit: number | null;
}

/** All that was ever charged to it. */
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
   * Present: what counts is how the row is when the entry is judged, so that whoever changes it waits for nobody. It is the
   * tenant's own, or that of the house in which all tenants live.
   */
  readonly glance?: "own" | "house";
}

/** Where all tenants live. No principal is of it: its name cannot be printed. */
export const house = "\u0001house" as Tenant;

/** Whose row is looked at. */
export function ownerOf(tenant: Tenant, { glance }: Pick<Check, "glance">): Tenant {
  return glance === "house" ? house : tenant;
}

export interface StoredRow {
  readonly key: string;
  readonly version: number;
  readonly row: string;
}

/** Why an entry did not land: the next command is made from it. Epoch wins, then position, row, check, charge. */
export type Landing =
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

/** A run's events, and what the head says of them. */
export interface StoredJournal {
  readonly run: RunId;
  readonly head: Head | null;
  readonly events: readonly StoredEvent[];
}

export interface Head {
  readonly position: number;
  readonly hash: Uint8Array;
}

/** The right to execute one run, until someone else claims it. */
export interface Claim {
  readonly tenant: Tenant;
  readonly run: RunId;
  readonly worker: WorkerId;
  readonly epoch: Epoch;
}

/** What a worker takes, and how much of it may be held at once, by all workers together. */
export interface ClaimTerms {
  /** Only of these; of all, if not said. */
  readonly queues?: readonly string[];
  readonly perQueue?: Readonly<Record<string, number>>;
  readonly perTenant?: number;
  /** What the worker has that not every worker does: for runs that need one of them. */
  readonly offers?: readonly string[];
}

/** A run in someone's hands. */
export interface Holding {
  readonly run: RunId;
  readonly worker: WorkerId;
  readonly epoch: Epoch;
  /** Null: it has nothing left to do, and is about to be let go. */
  readonly queue: string | null;
  readonly since: Instant;
  readonly until: Instant;
}

/** What retention takes of a run: the bodies of its events except those it keeps, and the blobs that it names. */
export interface Erasure {
  readonly tenant: Tenant;
  readonly run: RunId;
  /** How many events the run had when it was decided that it may go. */
  readonly position: number;
  /** Positions whose bodies stay. */
  readonly keep: readonly number[];
  readonly blobs: readonly Digest[];
}

/** Rows of one table, by key; `where` may name an indexed field (rows.ts). */
export interface Query {
  readonly table: Table;
  readonly where?: { readonly field: string; readonly equals: string | number };
  /** Only keys after this one in the asked order. */
  readonly after?: string;
  readonly order: "oldest" | "newest";
  readonly limit: number;
}
