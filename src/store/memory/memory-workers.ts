import { hostname } from "node:os";
import type { ClaimTerms, Store, WorkerProcess } from "../../core/store/store.ts";
import type { Digest, WorkerId } from "../../core/values/ids.ts";
import { writVersion } from "../../core/values/writ-version.ts";
import type { LeaseTime } from "./memory-handover.ts";
import type { MemoryTables, MemoryWorker } from "./memory-tables.ts";
import { compareKeyPaths } from "./sorted-table.ts";

type WorkerMethods = Pick<Store, "registerWorker" | "retireWorker" | "workers">;

export function workerMethods(tables: MemoryTables, { clock, leaseMs }: LeaseTime): WorkerMethods {
  const ownProcess: WorkerProcess = { version: writVersion, host: hostname(), pid: process.pid };
  return {
    registerWorker: async (worker, { rules = null, offers = [] } = {}) =>
      void tables.workers.set(worker, { rules, offers, until: leaseMs === null ? null : clock.now() + leaseMs }),
    retireWorker: async (worker) => {
      const known = tables.workers.get(worker);
      if (known !== undefined) tables.workers.set(worker, { ...known, rules: null, offers: [] });
    },
    workers: async () =>
      [...tables.workers]
        .filter(([, known]) => isLive(known, clock.now()))
        .map(([worker, { rules, offers }]) => ({ worker, rules, offers, process: ownProcess }))
        .sort((left, right) => compareKeyPaths([left.worker], [right.worker])),
  };
}

function isLive({ until }: MemoryWorker, now: number): boolean {
  return until === null || until > now;
}

/** Returns the rules that live workers have and this one does not. */
export function rulesElsewhere({ workers }: MemoryTables, own: Digest | null, now: number): ReadonlySet<Digest | null> {
  const live = [...workers.values()].filter((known) => isLive(known, now) && known.rules !== null);
  return new Set(live.map(({ rules }) => rules).filter((rules) => rules !== own));
}

/** Returns a test: true if the worker, or no other worker that may claim the run, offers one of its tools. */
export function notLeftToOthers(
  { workers }: MemoryTables,
  own: WorkerId,
  { rules: ownRules, offers = [] }: ClaimTerms,
  now: number,
): (run: { readonly rules: Digest | null; readonly tools: readonly string[] }) => boolean {
  const others = [...workers].flatMap(([worker, known]) =>
    worker !== own && isLive(known, now) && known.rules !== null ? [known] : [],
  );
  return ({ rules, tools }) => {
    const mayClaim = rules === ownRules ? others.filter((other) => other.rules === rules) : others;
    const isOffered = (offered: readonly string[]) => tools.some((tool) => offered.includes(tool));
    return isOffered(offers) || !mayClaim.some((other) => isOffered(other.offers));
  };
}

/** Ends the leases and requests of a worker, and removes it. */
export function endWorker(tables: MemoryTables, evicted: WorkerId): void {
  tables.workers.delete(evicted);
  for (const [path, lease] of tables.leases.sorted()) {
    const { epoch, worker, ask } = lease;
    if (worker === evicted)
      tables.leases.set(path, { epoch: epoch + 1, worker: null, until: 0, prior: evicted, since: 0, ask: null });
    else if (ask?.by === evicted) tables.leases.set(path, { ...lease, ask: null });
  }
}
