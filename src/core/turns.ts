import type { RunId, Tenant } from "./id.ts";
import type { ClaimTerms } from "./store.ts";

/** The queue of a run that was given none. */
export const queueDefault = "default";

/** Names that fit on a command line and into a metric. */
export function isQueue(name: unknown): name is string {
  return typeof name === "string" && /^[\w.-]{1,64}$/.test(name);
}

export const queueRule = "1 to 64 letters, digits, dots, hyphens or underscores";

/** A run that is due and that nobody living holds. */
export interface Waiter {
  readonly tenant: Tenant;
  readonly run: RunId;
  readonly queue: string;
  /** The highest first. */
  readonly priority: number;
}

/** How many runs are held, by their queue and by their tenant. */
export interface Load {
  readonly queues: ReadonlyMap<string, number>;
  readonly tenants: ReadonlyMap<string, number>;
}

interface Turn {
  readonly waiter: Waiter;
  /** The how-manieth of its tenant. */
  readonly turn: number;
}

/**
 * Whose turn it is, of those that wait, given in the order they fell due: the first of every tenant, then the second of every
 * tenant, and so on; within a tenant by priority. So a tenant with ten thousand runs does not keep another waiting. Only
 * as many as fit: what a queue or a tenant has no room for waits until it has, and takes no turn from those that have room.
 */
export function turns(waiters: readonly Waiter[], most: number, terms: ClaimTerms, load: Load): readonly Waiter[] {
  const { queues, perQueue = {}, perTenant } = terms;
  const room = (queue: string): number =>
    Object.hasOwn(perQueue, queue) ? Number(perQueue[queue]) - (load.queues.get(queue) ?? 0) : most;
  const served = waiters.filter(({ queue }) => (queues === undefined || queues.includes(queue)) && room(queue) > 0);
  const fits = ({ waiter: { tenant }, turn }: Turn): boolean =>
    perTenant === undefined || turn <= perTenant - (load.tenants.get(tenant) ?? 0);
  const inTurn = numbered(served, room).filter((one) => one.turn <= most && fits(one));
  const taken = new Map<string, number>();
  const fitting = inTurn.filter(({ waiter: { queue } }) => count(taken, queue) <= room(queue));
  return fitting.slice(0, most).map(({ waiter }) => waiter);
}

/**
 * In the order of their turns; of two with the same, the one that has been due for longer. Of each tenant's in a queue only as many
 * as the queue has room for.
 */
function numbered(waiters: readonly Waiter[], room: (queue: string) => number): readonly Turn[] {
  const [inQueue, inTenant] = [new Map<string, number>(), new Map<string, number>()];
  const turnOf = new Map<Waiter, number>();
  for (const waiter of waiters.toSorted((left, right) => right.priority - left.priority)) {
    const { tenant, queue } = waiter;
    if (count(inQueue, `${queue}\0${tenant}`) <= room(queue)) turnOf.set(waiter, count(inTenant, tenant));
  }
  return waiters
    .filter((waiter) => turnOf.has(waiter))
    .map((waiter) => ({ waiter, turn: turnOf.get(waiter) as number }))
    .toSorted((left, right) => left.turn - right.turn);
}

function count(counts: Map<string, number>, name: string): number {
  const counted = (counts.get(name) ?? 0) + 1;
  counts.set(name, counted);
  return counted;
}
