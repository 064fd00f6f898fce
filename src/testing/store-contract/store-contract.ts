import type { Clock } from "../../core/ports/clock.ts";
import type { Store } from "../../core/store/store.ts";
import type { WorkerId } from "../../core/values/ids.ts";
import { fakeClock } from "../fake-clock.ts";
import { appendRules } from "./append-rules.ts";
import { chargeRules } from "./charge-rules.ts";
import { claimRules } from "./claim-rules.ts";
import { contractLeaseMs } from "./contract-rule.ts";
import { dueRunRules } from "./due-run-rules.ts";
import { eraseRules } from "./erase-rules.ts";
import { evictionRules } from "./eviction-rules.ts";
import { fenceRules } from "./fence-rules.ts";
import { offeredToolsRules } from "./offered-tools-rules.ts";
import { rowRules } from "./row-rules.ts";
import { runHandoverRules } from "./run-handover-rules.ts";
import { searchRules } from "./search-rules.ts";

export interface StoreCheck {
  readonly title: string;
  /** Rejects with an AssertionError when the store breaks the rule in the title. */
  check(): Promise<void>;
}

/** Opens a new, empty store with this clock and this lease duration. */
export type OpenStore = (setting: { readonly clock: Clock; readonly leaseMs: number }) => Promise<Store>;

/** Evicts a worker, as a store does that finds it dead. */
export type EvictWorker = (store: Store, worker: WorkerId) => Promise<void>;

/**
 * The checks that every store must pass. Any test runner can run them in a loop. `evict` is given for a store whose
 * leases do not end by time.
 */
export function storeContract(open: OpenStore, evict?: EvictWorker): readonly StoreCheck[] {
  const leasesEnd = evict === undefined ? "by_time" : "by_eviction";
  const all = [
    ...appendRules,
    ...rowRules,
    ...searchRules,
    ...chargeRules,
    ...fenceRules,
    ...claimRules,
    ...runHandoverRules,
    ...dueRunRules,
    ...offeredToolsRules,
    ...evictionRules,
    ...eraseRules,
  ];
  const rules = all.filter((rule) => (rule.leasesEnd ?? leasesEnd) === leasesEnd);
  return rules.map(({ title, assertHolds: holds }) => ({
    title,
    check: async () => {
      const clock = fakeClock();
      const store = await open({ clock, leaseMs: contractLeaseMs });
      try {
        await holds(store, clock, async (worker) =>
          evict === undefined ? clock.advance(contractLeaseMs) : evict(store, worker),
        );
      } finally {
        await store.close();
      }
    },
  }));
}
