import type { AppendResult, Entry } from "../../core/store/store.ts";
import type { RunId, Tenant, WorkerId } from "../../core/values/ids.ts";
import { lockedChecks, rowName } from "./append-batch.ts";

/** An entry with the callbacks that settle its promise. */
export interface QueuedEntry {
  readonly entry: Entry;
  /** The worker that claims the run with this entry, its first; null if none does. */
  claimant: Claimant | null;
  resolve(result: AppendResult): void;
  reject(error: unknown): void;
}

interface Claimant {
  readonly worker: WorkerId;
  /** Called with false if the run was not claimed with its entry and needs a claim call. */
  answer(isClaimed: boolean): void;
  /** Called if the append failed, so that the run may not exist. */
  refuse(error: unknown): void;
}

/**
 * Larger batches cost more per entry. A batch below the minimum is not split: its halves would cost more than the
 * whole.
 */
const MAX_BATCH = 64;
const MIN_BATCH = 32;

export interface AppendQueue {
  append(entry: Entry): Promise<AppendResult>;
  /**
   * Claims a run with its first entry, at epoch 1. Returns null if no such entry waits. Resolves to whether the run is
   * claimed, and rejects if the append of the entry rejects.
   */
  claim(worker: WorkerId, tenant: Tenant, run: RunId): Promise<boolean> | null;
  /** Resolves when every queued entry is settled. */
  idle(): Promise<void>;
}

/**
 * Makes a queue that keeps at limit `lanes` batches in flight. Entries that arrive while all lanes are busy share the
 * next batch of their tenant. There is no timer: `setImmediate` runs after the answers of this turn of the event loop
 * are delivered, which groups the outcomes of tools that ended together.
 */
export function createAppendQueue(lanes: number, send: (batch: readonly QueuedEntry[]) => Promise<void>): AppendQueue {
  const queues = new Map<Tenant, QueuedEntry[]>();
  let inFlight = 0;
  let isScheduled = false;
  let idleWaiters: (() => void)[] = [];

  const schedule = (): void => {
    if (isScheduled || inFlight >= lanes || queues.size === 0) return;
    isScheduled = true;
    setImmediate(flush);
  };
  const flush = (): void => {
    isScheduled = false;
    while (inFlight < lanes && queues.size > 0) {
      const batch = nextBatch(queues, lanes - inFlight);
      inFlight += 1;
      void send(batch).finally(done);
    }
  };
  const done = (): void => {
    inFlight -= 1;
    schedule();
    if (inFlight > 0 || queues.size > 0) return;
    for (const resolve of idleWaiters) resolve();
    idleWaiters = [];
  };
  return {
    append: (entry) =>
      new Promise((resolve, reject) => {
        const queue = queues.get(entry.tenant) ?? [];
        queue.push({ entry, claimant: null, resolve, reject });
        queues.set(entry.tenant, queue);
        schedule();
      }),
    claim: (worker, tenant, run) => {
      const first = queues.get(tenant)?.findLast(({ entry }) => entry.run === run && entry.expect.position === 0);
      if (first === undefined || first.claimant !== null) return null;
      return new Promise((answer, refuse) => {
        first.claimant = { worker, answer, refuse };
      });
    },
    idle: () =>
      inFlight === 0 && queues.size === 0 ? Promise.resolve() : new Promise((resolve) => idleWaiters.push(resolve)),
  };
}

/**
 * Takes the next batch of the tenant that waits longest: its share of the free lanes. Its other entries go to the back.
 */
function nextBatch(queues: Map<Tenant, QueuedEntry[]>, free: number): readonly QueuedEntry[] {
  const [[tenant, queue]] = queues as unknown as [[Tenant, QueuedEntry[]]];
  const limit = Math.min(MAX_BATCH, Math.max(MIN_BATCH, Math.ceil(queue.length / free)));
  const batch: QueuedEntry[] = [];
  const rest: QueuedEntry[] = [];
  const names = new Set<string>();
  for (const waiting of queue) {
    const touched = batch.length < limit ? touchedNames(waiting.entry) : [];
    if (batch.length >= limit || touched.some((name) => names.has(name))) rest.push(waiting);
    else batch.push(waiting);
    // Also for an entry that is not taken, so that a later entry with the same names does not overtake it.
    for (const name of touched) names.add(name);
  }
  queues.delete(tenant);
  if (rest.length > 0) queues.set(tenant, rest);
  return batch;
}

/** Returns the names of the head and rows that only one entry of a batch may touch. */
function touchedNames({ run, puts, checks }: Entry): readonly string[] {
  return [`head\0${run}`, ...puts.map(rowName), ...lockedChecks(checks).map(rowName)];
}
