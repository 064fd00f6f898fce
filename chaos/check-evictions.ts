import { groupBy } from "./group-by.ts";
import { claimCalls, grantedEpochs, type RenewCall, type StoreHistory } from "./store-history.ts";

interface HeldLease {
  readonly by: string;
  readonly epoch: number;
  /** When the lease was requested. */
  readonly from: number;
}

/**
 * Returns the leases that live workers lost. A worker may lose a lease only if it released it, was killed or stopped
 * while it held it, or left it out of a renewal. That all workers stood still, or that the clock jumped, is no reason.
 */
export function findWrongEvictions(history: StoreHistory): readonly string[] {
  const renewals = groupBy(
    history.calls.filter((call): call is RenewCall => call.request.do === "renew"),
    ({ by }) => by,
  );
  const outages = groupBy(history.workerOutages, ({ by }) => by);
  const released = new Set(
    history.calls.flatMap(({ request }) => (request.do === "release" ? [request.claim.join(" ")] : [])),
  );
  const mayLose = (run: string, { by, epoch, from }: HeldLease, to: number): boolean =>
    released.has(`${run} ${epoch}`) ||
    (outages.get(by) ?? []).some((outage) => outage.from < to && outage.to > from) ||
    (renewals.get(by) ?? []).some(
      (renewal) => renewal.from > from && renewal.from < to && !renewal.request.claims.some(([held]) => held === run),
    );
  const leases = new Map<string, HeldLease>();
  const found: string[] = [];
  for (const claim of claimCalls(history)) {
    for (const [run, epoch] of grantedEpochs(claim)) {
      const last = leases.get(run);
      // A worker may claim its own run again; only an eviction moves the epoch by more than one.
      const isLost = last !== undefined && (last.by !== claim.by || epoch > last.epoch + 1);
      if (isLost && !mayLose(run, last, claim.to))
        found.push(`${run}: ${last.by} lost epoch ${last.epoch} to ${claim.by}, although it was running`);
      leases.set(run, { by: claim.by, epoch, from: claim.from });
    }
  }
  return found;
}
