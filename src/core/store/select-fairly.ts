import type { RunId, Tenant } from "../values/ids.ts";
import type { ClaimTerms } from "./store.ts";

/** The queue of a run that names none. */
export const defaultQueue = "default";

/** True for a name that can be used on a command line and in a metric. */
export function isQueueName(name: unknown): name is string {
  return typeof name === "string" && /^[\w.-]{1,64}$/.test(name);
}

export const queueNameRule = "1 to 64 letters, digits, dots, hyphens or underscores";

/** A run that is due and that no live worker holds. */
export interface QueuedRun {
  readonly tenant: Tenant;
  readonly run: RunId;
  readonly queue: string;
  /** Higher priorities come first. */
  readonly priority: number;
}

/** The number of leased runs per queue and per tenant. */
export interface LeaseCounts {
  readonly queues: ReadonlyMap<string, number>;
  readonly tenants: ReadonlyMap<string, number>;
}

interface RankedRun {
  readonly run: QueuedRun;
  /** The rank of the run within its tenant, from 1. */
  readonly rank: number;
}

/**
 * Selects up to `most` runs from the queued runs, which are given in the order in which they became due: the first of
 * every tenant, then the second of every tenant, and so on; within a tenant by priority. So a tenant with ten thousand
 * runs does not delay another. A run whose queue or tenant is at its limit is skipped and takes no place from the
 * others.
 */
export function selectFairly(
  queued: readonly QueuedRun[],
  most: number,
  terms: ClaimTerms,
  load: LeaseCounts,
): readonly QueuedRun[] {
  const { queues, perQueue = {}, perTenant } = terms;
  const room = (queue: string): number =>
    Object.hasOwn(perQueue, queue) ? Number(perQueue[queue]) - (load.queues.get(queue) ?? 0) : most;
  const served = queued.filter(({ queue }) => (queues === undefined || queues.includes(queue)) && room(queue) > 0);
  const fits = ({ run: { tenant }, rank }: RankedRun): boolean =>
    perTenant === undefined || rank <= perTenant - (load.tenants.get(tenant) ?? 0);
  const ranked = rankWithinTenant(served, room).filter((one) => one.rank <= most && fits(one));
  const taken = new Map<string, number>();
  const fitting = ranked.filter(({ run: { queue } }) => increment(taken, queue) <= room(queue));
  return fitting.slice(0, most).map(({ run }) => run);
}

/**
 * Ranks the runs of each tenant by priority and orders all runs by rank; of equal ranks, the run that became due first
 * comes first. Each tenant gets at most as many runs of a queue as the queue has room for.
 */
function rankWithinTenant(queued: readonly QueuedRun[], room: (queue: string) => number): readonly RankedRun[] {
  const [inQueue, inTenant] = [new Map<string, number>(), new Map<string, number>()];
  const rankOf = new Map<QueuedRun, number>();
  for (const run of queued.toSorted((left, right) => right.priority - left.priority)) {
    const { tenant, queue } = run;
    if (increment(inQueue, `${queue}\0${tenant}`) <= room(queue)) rankOf.set(run, increment(inTenant, tenant));
  }
  return queued
    .filter((run) => rankOf.has(run))
    .map((run) => ({ run, rank: rankOf.get(run) as number }))
    .toSorted((left, right) => left.rank - right.rank);
}

function increment(counts: Map<string, number>, name: string): number {
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  return count;
}
