import { assertStorableNames } from "../../core/store/check-entry.ts";
import type { Claim, Store } from "../../core/store/store.ts";
import type { Instant } from "../../core/values/ids.ts";
import { int8Array, textArray } from "./binary-array.ts";
import type { FunctionCaller } from "./function-caller.ts";

interface RequestOptions {
  readonly calls: FunctionCaller;
  readonly leaseMs: number;
  /** Returns the time by which leases expire; null if the server's own time counts. */
  givenNow(): Instant | null;
}

/** Asks workers for the runs that they hold, and finds out which runs others ask for. */
export function postgresHeldRunAsks({
  calls,
  leaseMs,
  givenNow,
}: RequestOptions): Pick<Store, "ask" | "withdrawAsk" | "heldRuns"> {
  return {
    ask: async (worker, tenant, run) => {
      assertStorableNames(worker, tenant, run);
      const values = [tenant, run, worker, leaseMs, givenNow()];
      const [answer] = await calls<readonly [boolean]>({ name: "ask", isValue: true, values });
      return answer?.[0] === true;
    },
    withdrawAsk: async (worker, tenant, run) => {
      assertStorableNames(worker, tenant, run);
      await calls({ name: "withdraw_ask", isValue: true, values: [tenant, run, worker] });
    },
    heldRuns: async (claims) => {
      for (const { tenant, run } of claims) assertStorableNames(tenant, run);
      if (claims.length === 0) return [];
      const values = [...claimValues(claims), givenNow()];
      const found = await calls<readonly [number, boolean]>({ name: "held_runs", values });
      return found.map(([position, wanted]) => ({ position, wanted }));
    },
  };
}

/** Returns the columns of claims. */
export function claimValues(claims: readonly Claim[]) {
  return [
    textArray(claims.map(({ tenant }) => tenant)),
    textArray(claims.map(({ run }) => run)),
    textArray(claims.map(({ worker }) => worker)),
    int8Array(claims.map(({ epoch }) => epoch)),
  ];
}
