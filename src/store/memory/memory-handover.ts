import type { Clock } from "../../core/ports/clock.ts";
import type { Claim, Store } from "../../core/store/store.ts";
import type { WorkerId } from "../../core/values/ids.ts";
import type { MemoryLease, MemoryTables } from "./memory-tables.ts";

/** `leaseMs` is null if no lease ends by time. */
export interface LeaseTime {
  readonly clock: Clock;
  readonly leaseMs: number | null;
}

type HandoverMethods = Pick<Store, "ask" | "withdrawAsk" | "heldRuns" | "watch">;

/** Requests of workers for runs that others hold. */
export function handoverMethods(tables: MemoryTables, { clock, leaseMs }: LeaseTime): HandoverMethods {
  // Only requests are announced: the engines of one process that share a store find all else on their next sweep.
  const hints = new Set<() => void>();
  return {
    ask: async (by, tenant, run) => {
      const lease = tables.leases.get(tenant, run);
      if (lease === undefined || lease.worker === null || lease.worker === by) return false;
      if (lease.until !== null && lease.until <= clock.now()) return false;
      const until = leaseMs === null ? null : clock.now() + leaseMs;
      tables.leases.set([tenant, run], { ...lease, ask: { by, until } });
      for (const hint of [...hints]) hint();
      return true;
    },
    withdrawAsk: async (by, tenant, run) => {
      const lease = tables.leases.get(tenant, run);
      if (lease?.ask?.by === by) tables.leases.set([tenant, run], { ...lease, ask: null });
    },
    heldRuns: async (claims) =>
      claims.map(({ tenant, run, worker, epoch }) => {
        const lease = tables.leases.get(tenant, run);
        const isHeld = lease?.worker === worker && lease.epoch === epoch;
        return { position: tables.position(tenant, run), wanted: isHeld && asker(lease, clock.now()) !== null };
      }),
    watch: (hint) => {
      hints.add(hint);
      return () => void hints.delete(hint);
    },
  };
}

/** Returns the worker that asks for a run and does not hold it, or null. */
function asker({ ask, worker }: MemoryLease, now: number): WorkerId | null {
  return ask !== null && ask.by !== worker && (ask.until === null || ask.until > now) ? ask.by : null;
}

/** Ends a lease, or gives it to the worker that asks for the run. The epoch moves when that worker claims the run. */
export function releaseLease(tables: MemoryTables, { tenant, run, epoch }: Claim, now: number, until: number | null) {
  const next = asker(tables.leases.get(tenant, run) as MemoryLease, now);
  const free = { epoch, worker: null, until: 0, prior: null, since: 0, ask: null };
  tables.leases.set([tenant, run], next === null ? free : { ...free, worker: next, until, since: now });
}
