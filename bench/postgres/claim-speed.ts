import type { Claim, Store } from "../../src/core/store/store.ts";
import type { WorkerId } from "../../src/core/values/ids.ts";
import { postgres } from "../../src/store/postgres/postgres-store.ts";
import { measureTime } from "../measure-time.ts";
import type { Measurement } from "../measurement.ts";
import { openBenchEngine } from "../workload.ts";
import type { BenchServer } from "./bench-server.ts";

const runs = 10_000;
const workers = 4;
const tenants = 20;

/** Measures the claims of due runs per second by four workers, a hundred at a time. */
export function claimSpeed(server: BenchServer, id: string): Measurement {
  const limit = 2000;
  return {
    id,
    about: `${runs} due runs of ${tenants} tenants, claimed by ${workers} workers at once, none twice`,
    limitAbout: "2000 a second",
    unit: "claims/s",
    goal: { of: "value", atLeast: limit },
    round: async () => {
      await server.empty();
      await server.query(
        `insert into writ.head (tenant, run, position) select 'tenant-' || n % ${tenants}, 'run-' || n, 1 from generate_series(1, ${runs}) n;
         insert into writ.due (tenant, run, at) select tenant, run, 0 from writ.head; analyze writ.due, writ.head`,
      );
      const stores = await Promise.all(
        Array.from({ length: workers }, () => postgres(server.url, { leaseMs: 600_000 })),
      );
      const claims: Claim[] = [];
      const took = await measureTime(async () => {
        await Promise.all(stores.map((store, at) => claimAllDue(store, `worker-${at}` as WorkerId, claims)));
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

/** Repeats until all runs are claimed, because an empty answer may be due to concurrent claims. */
async function claimAllDue(store: Store, worker: WorkerId, claims: Claim[]): Promise<void> {
  while (claims.length < runs) claims.push(...(await store.claimDue(worker, 100)));
}

const idleMs = 10_000;

/** Measures the queries per second of an idle worker with many parked runs. */
export function idleQueries(server: BenchServer, id: string): Measurement {
  return {
    id,
    about: `a worker with nothing to do for ${idleMs / 1000} s, ${runs} runs parked`,
    limitAbout: "1 a second",
    unit: "queries/s",
    goal: { of: "value", atMost: 1 },
    maxRounds: 1,
    round: async () => {
      await server.empty();
      await server.query(
        `insert into writ.head (tenant, run, position) select 'tenant-' || n % ${tenants}, 'run-' || n, 1 from generate_series(1, ${runs}) n;
         insert into writ.due (tenant, run, at) select tenant, run, 9000000000000 from writ.head; analyze writ.due, writ.head`,
      );
      const { store, queries } = countQueries(await postgres(server.url));
      const engine = await openBenchEngine(store, "every");
      const before = queries();
      await new Promise((resolve) => setTimeout(resolve, idleMs));
      const value = (1000 * (queries() - before)) / idleMs;
      await engine.close();
      return { value, limit: 1, ratio: value };
    },
  };
}

/** Counts the queries of a store: one per call, and none for an empty renewal. */
function countQueries(real: Store): { readonly store: Store; queries(): number } {
  let queries = 0;
  const members = Object.entries(real).map(([name, member]: [string, unknown]) => {
    if (typeof member !== "function" || ["watch", "changes", "close"].includes(name)) return [name, member] as const;
    const call = (...given: readonly unknown[]) => {
      if (name !== "renew" || (given[0] as readonly unknown[]).length > 0) queries += 1;
      return member(...given);
    };
    return [name, call] as const;
  });
  return { store: Object.fromEntries(members) as unknown as Store, queries: () => queries };
}
