import type { Landing, Store } from "../core/store.ts";

/** What a worker has done since it began, by name and kind: everything it does goes through its store. */
export class Meters {
  readonly #counts = new Map<string, number>();

  add(name: string, kind: string, amount = 1): void {
    const meter = `${name} ${kind}`;
    this.#counts.set(meter, (this.#counts.get(meter) ?? 0) + amount);
  }

  /** Of one name, by kind. */
  of(name: string): readonly (readonly [kind: string, count: number])[] {
    const found: (readonly [string, number])[] = [];
    for (const [meter, count] of this.#counts) {
      const [named, kind = ""] = meter.split(" ");
      if (named === name) found.push([kind, count]);
    }
    return found.sort();
  }
}

/** The store, with what passes through it counted. */
export function metered(store: Store, meters: Meters): Store {
  return {
    ...store,
    // Asked for each time: a server that crashed has another.
    get boot() {
      return store.boot;
    },
    append: async (entries) => {
      const landings = await store.append(entries);
      for (const [index, landing] of landings.entries()) {
        meters.add("appends", outcomeOf(landing));
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
    renew: async (claims) => {
      const lost = await store.renew(claims);
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

/** Landed, or why not: `epoch` is a write that came from a worker who no longer holds the run. */
function outcomeOf(landing: Landing): string {
  return landing.landed ? "landed" : landing.why;
}
