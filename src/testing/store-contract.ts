import type { Store } from "../core/store.ts";
import type { Clock } from "../core/time/clock.ts";
import { fakeClock } from "./clock.ts";
import { appending } from "./store-contract/appending.ts";
import { charging } from "./store-contract/charging.ts";
import { claiming } from "./store-contract/claiming.ts";
import { fencing } from "./store-contract/fencing.ts";
import { keeping } from "./store-contract/keeping.ts";
import { leaseMs } from "./store-contract/law.ts";
import { rows } from "./store-contract/rows.ts";

export interface StoreCheck {
  readonly title: string;
  /** Rejects with an AssertionError when the store breaks the rule in the title. */
  check(): Promise<void>;
}

/** Opens a new, empty store that tells the time by this clock and leases for this long. */
export type OpenStore = (setting: { readonly clock: Clock; readonly leaseMs: number }) => Promise<Store>;

/** Every store passes these checks, or it is not a store. Any test runner can loop over them. */
export function storeContract(open: OpenStore): readonly StoreCheck[] {
  const laws = [...appending, ...rows, ...charging, ...fencing, ...claiming, ...keeping];
  return laws.map(({ title, holds }) => ({
    title,
    check: async () => {
      const clock = fakeClock();
      const store = await open({ clock, leaseMs });
      try {
        await holds(store, clock);
      } finally {
        await store.close();
      }
    },
  }));
}
