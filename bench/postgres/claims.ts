import type { WorkerId } from "../../src/core/id.ts";
import type { Claim, Store } from "../../src/core/store.ts";
import { postgres } from "../../src/store/postgres/postgres-store.ts";
import type { Measurement } from "../measurement.ts";
import { timed } from "../timed.ts";
import { openEngine } from "../workload.ts";
import type { Place } from "./place.ts";

const runs = 10_000;
const workers = 4;
const tenants = 20;

/** How many due runs a second four workers take, a hundred at a time, each run once. */
export function claiming(place: Place, id: string): Measurement {
  const limit = 2000;
  return {
    id,
    about: `${runs} due runs of ${tenants} tenants, claimed by ${workers} workers at once, none twice`,
    beside: "2000 a second",
    unit: "claims/s",
    goal: { of: "value", atLeast: limit },
    round: async () => {
      await place.empty();
      await place.query(
        `insert into writ.head (tenant, run, position) select 'tenant-' || n % ${tenants}, 'run-' || n, 1 from generate_series(1, ${runs}) n;
         insert into writ.due (tenant, run, at) select tenant, run, 0 from writ.head; analyze writ.due, writ.head`,
      );
      const stores = await Promise.all(
        Array.from({ length: workers }, () => postgres(place.url, { leaseMs: 600_000 })),
      );
      const claims: Claim[] = [];
      const took = await timed(async () => {
        await Promise.all(stores.map((store, at) => claimAll(store, `worker-${at}` as WorkerId, claims)));
      });
      await Promise.all(stores.map((store) => store.close()));
      const names = new Set(claims.map(({ tenant, run }) => `${tenant} ${run}`));
      if (claims.length !== runs || names.size !== runs)
        throw new Error(`${claims.length} claims of ${names.size} of ${runs} runs`);
      const value = (1000 * runs) / took;
      return { value, limit, ratio: value / limit };
    },
  };
}

/** Until all of them are claimed: who finds nothing may have met others that were about to. */
async function claimAll(store: Store, worker: WorkerId, claims: Claim[]): Promise<void> {
  while (claims.length < runs) claims.push(...(await store.claimDue(worker, 100)));
}

const idleMs = 10_000;

/** How many questions a second a worker asks that has nothing to do, though much is parked. */
export function idling(place: Place, id: string): Measurement {
  return {
    id,
    about: `a worker with nothing to do for ${idleMs / 1000} s, ${runs} runs parked`,
    beside: "1 a second",
    unit: "queries/s",
    goal: { of: "value", atMost: 1 },
    enough: 1,
    round: async () => {
      await place.empty();
      await place.query(
        `insert into writ.head (tenant, run, position) select 'tenant-' || n % ${tenants}, 'run-' || n, 1 from generate_series(1, ${runs}) n;
         insert into writ.due (tenant, run, at) select tenant, run, 9000000000000 from writ.head; analyze writ.due, writ.head`,
      );
      const { store, queries } = counted(await postgres(place.url));
      const engine = await openEngine(store, "every");
      const before = queries();
      await new Promise((resolve) => setTimeout(resolve, idleMs));
      const value = (1000 * (queries() - before)) / idleMs;
      await engine.close();
      return { value, limit: 1, ratio: value };
    },
  };
}

/** Every call is one query; to renew nothing is none. */
function counted(real: Store): { readonly store: Store; queries(): number } {
  let queries = 0;
  const members = Object.entries(real).map(([name, member]: [string, unknown]) => {
    if (typeof member !== "function" || name === "watch" || name === "close") return [name, member] as const;
    const call = (...given: readonly unknown[]) => {
      if (name !== "renew" || (given[0] as readonly unknown[]).length > 0) queries += 1;
      return member(...given);
    };
    return [name, call] as const;
  });
  return { store: Object.fromEntries(members) as unknown as Store, queries: () => queries };
}
