import type { AppendResult, Store } from "../core/store/store.ts";

/** Counts the operations of a worker by name and kind. Everything that a worker does passes its store. */
export class StoreOperationCounters {
  readonly #counts = new Map<string, number>();

  add(name: string, kind: string, amount = 1): void {
    const meter = `${name} ${kind}`;
    this.#counts.set(meter, (this.#counts.get(meter) ?? 0) + amount);
  }

  /** Returns the counts of one name, sorted by kind. */
  of(name: string): readonly (readonly [kind: string, count: number])[] {
    const found: (readonly [string, number])[] = [];
    for (const [meter, count] of this.#counts) {
      const [named, kind = ""] = meter.split(" ");
      if (named === name) found.push([kind, count]);
    }
    return found.sort();
  }
}

/** Wraps a store and counts its operations. */
export function countingStore(store: Store, meters: StoreOperationCounters): Store {
  return {
    ...store,
    // Read each time: the value changes when the server crashes.
    get boot() {
      return store.boot;
    },
    append: async (entries) => {
      const landings = await store.append(entries);
      for (const [index, landing] of landings.entries()) {
        meters.add("appends", appendOutcome(landing));
        if (!landing.landed) continue;
        for (const { type } of entries[index]?.events ?? []) meters.add("events", type);
      }
      return landings;
    },
    claim: async (...given) => {
      const claim = await store.claim(...given);
      if (claim !== null) meters.add("claims", "asked");
      return claim;
    },
    claimDue: async (...given) => {
      const claims = await store.claimDue(...given);
      if (claims.length > 0) meters.add("claims", "due", claims.length);
      return claims;
    },
    renew: async (worker, claims) => {
      const lost = await store.renew(worker, claims);
      if (lost.length > 0) meters.add("leases_lost", "lost", lost.length);
      if (claims.length > lost.length) meters.add("renewals", "kept", claims.length - lost.length);
      return lost;
    },
    predecessor: async (claim) => {
      const prior = await store.predecessor(claim);
      if (prior !== null) meters.add("takeovers", "lease_over");
      return prior;
    },
  };
}

/** Returns the outcome of an append; `epoch` is a write of a worker that no longer holds the run. */
function appendOutcome(landing: AppendResult): string {
  return landing.landed ? "landed" : landing.why;
}
