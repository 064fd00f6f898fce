import type { RunId, Tenant, WorkerId } from "../../core/id.ts";
import type { Entry, Landing } from "../../core/store.ts";
import { nameOf, promised } from "./batch.ts";

/** One entry and whoever waits for its answer. */
export interface Waiting {
  readonly entry: Entry;
  /** Who claims the run that it begins, if it does and somebody does. */
  claimant: Claimant | null;
  resolve(landing: Landing): void;
  reject(error: unknown): void;
}

interface Claimant {
  readonly worker: WorkerId;
  /** False: it is not claimed, and has to be claimed by itself. */
  answer(isClaimed: boolean): void;
  /** The entry was not taken: there may be nothing to claim. */
  refuse(error: unknown): void;
}

/** Beyond this a batch costs more for each entry, not less; below that, two halves cost more than the whole. */
const MOST = 64;
const LEAST = 32;

export interface GroupCommit {
  append(entry: Entry): Promise<Landing>;
  /** Claims a run with the entry that begins it; null if none waits. Answers whether it is claimed, with the first epoch there is; rejects with that entry. */
  claim(worker: WorkerId, tenant: Tenant, run: RunId): Promise<boolean> | null;
  /** Resolves when everything that waits was answered. */
  idle(): Promise<void>;
}

/**
 * Sends at once what comes while fewer batches are under way than there are lanes; what comes meanwhile shares the next batch of
 * its tenant. There is no timer: `setImmediate` runs when this turn's answers were handed out, which gathers the outcomes of
 * tools that ended together.
 */
export function groupCommit(lanes: number, send: (batch: readonly Waiting[]) => Promise<void>): GroupCommit {
  const queues = new Map<Tenant, Waiting[]>();
  let underWay = 0;
  let isSet = false;
  let idlers: (() => void)[] = [];

  const set = (): void => {
    if (isSet || underWay >= lanes || queues.size === 0) return;
    isSet = true;
    setImmediate(flush);
  };
  const flush = (): void => {
    isSet = false;
    while (underWay < lanes && queues.size > 0) {
      const batch = nextBatch(queues, lanes - underWay);
      underWay += 1;
      void send(batch).finally(done);
    }
  };
  const done = (): void => {
    underWay -= 1;
    set();
    if (underWay > 0 || queues.size > 0) return;
    for (const idler of idlers) idler();
    idlers = [];
  };
  return {
    append: (entry) =>
      new Promise((resolve, reject) => {
        const queue = queues.get(entry.tenant) ?? [];
        queue.push({ entry, claimant: null, resolve, reject });
        queues.set(entry.tenant, queue);
        set();
      }),
    claim: (worker, tenant, run) => {
      const first = queues.get(tenant)?.findLast(({ entry }) => entry.run === run && entry.expect.position === 0);
      if (first === undefined || first.claimant !== null) return null;
      return new Promise((answer, refuse) => {
        first.claimant = { worker, answer, refuse };
      });
    },
    idle: () =>
      underWay === 0 && queues.size === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve)),
  };
}

/** From the tenant that waits longest, its share of the free lanes; the rest of it goes behind the others. */
function nextBatch(queues: Map<Tenant, Waiting[]>, free: number): readonly Waiting[] {
  const [[tenant, queue]] = queues as unknown as [[Tenant, Waiting[]]];
  const most = Math.min(MOST, Math.max(LEAST, Math.ceil(queue.length / free)));
  const batch: Waiting[] = [];
  const rest: Waiting[] = [];
  const met = new Set<string>();
  for (const waiting of queue) {
    const names = batch.length < most ? namesOf(waiting.entry) : [];
    if (batch.length >= most || names.some((name) => met.has(name))) rest.push(waiting);
    else batch.push(waiting);
    // Also of those left behind: what comes after them waits behind them.
    for (const name of names) met.add(name);
  }
  queues.delete(tenant);
  if (rest.length > 0) queues.set(tenant, rest);
  return batch;
}

/** What two entries of one batch must not have in common. */
function namesOf({ run, puts, checks }: Entry): readonly string[] {
  return [`head\0${run}`, ...puts.map(nameOf), ...promised(checks).map(nameOf)];
}
