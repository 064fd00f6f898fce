import { assertStorableNames } from "../../core/store/check-entry.ts";
import { type LeaseCounts, type QueuedRun, selectFairly } from "../../core/store/select-fairly.ts";
import type { Claim, ClaimTerms, RunClaims, Store } from "../../core/store/store.ts";
import type { Digest, Epoch, Instant, RunId, StepId, Tenant, WorkerId } from "../../core/values/ids.ts";
import type { AbandonedLeases } from "./abandoned-leases.ts";
import type { OwnWorkers, SqliteContext } from "./sqlite-context.ts";
import type { ClaimColumns, HeldLease, SqliteStatements } from "./statements.ts";

type LeaseMethods = Pick<
  Store,
  | "claim"
  | "claimDue"
  | "retireWorker"
  | "renew"
  | "predecessor"
  | "release"
  | "ask"
  | "withdrawAsk"
  | "heldRuns"
  | "holdings"
  | "nextDue"
  | "mark"
  | "marked"
  | "claims"
  | "boot"
>;

/** Claims, renews and releases leases, and writes send markers. They are not facts of a run, so they are not synced. */
export function sqliteLeases(context: SqliteContext, boot: string): LeaseMethods {
  return {
    ...claimMethods(context),
    ...releaseMethod(context),
    ...askMethods(context),
    ...markerMethods(context, boot),
  };
}

function askMethods({ statements, group, read }: SqliteContext): Pick<Store, "ask" | "withdrawAsk" | "heldRuns"> {
  return {
    ask: async (worker, tenant, run) => {
      assertStorableNames(worker, tenant, run);
      return group.join("soft", () => {
        const holder = statements.holder.get(tenant, run)?.worker ?? null;
        if (holder === null || holder === worker) return false;
        statements.ask.run(worker, tenant, run);
        return true;
      });
    },
    withdrawAsk: async (worker, tenant, run) => {
      assertStorableNames(worker, tenant, run);
      await group.join("soft", () => statements.withdrawAsk.run(worker, tenant, run));
    },
    heldRuns: async (claims) => {
      for (const { tenant, run } of claims) assertStorableNames(tenant, run);
      return read(() =>
        claims.map(({ tenant, run, worker, epoch }) => ({
          position: statements.head.get(tenant, run)?.[0] ?? 0,
          wanted: statements.isWanted.get(tenant, run, worker, epoch) !== undefined,
        })),
      );
    },
  };
}

function claimMethods({
  statements,
  group,
  clock,
  read,
  workers,
  unrenewed,
}: SqliteContext): Omit<
  LeaseMethods,
  "release" | "ask" | "withdrawAsk" | "heldRuns" | "mark" | "marked" | "claims" | "boot"
> {
  const claim = (worker: WorkerId, tenant: Tenant, run: RunId): Claim | null => {
    const lease = statements.claim.get(tenant, run, worker, clock.now());
    return lease === undefined ? null : { tenant, run, worker, epoch: lease.epoch as Epoch };
  };
  return {
    claim: async (worker, tenant, run) => {
      assertStorableNames(worker, tenant, run);
      const beatFirst = beatIfDue(workers);
      return group.join("soft", () => {
        beatFirst();
        return claim(worker, tenant, run);
      });
    },
    claimDue: async (worker, limit, terms = {}) => {
      assertStorableNames(worker);
      const claimSome = (queued: readonly QueuedRun[], most: number): readonly Claim[] =>
        selectFairly(queued, most, terms, countLeases(statements, terms))
          .map(({ tenant, run }) => claim(worker, tenant, run))
          .filter((claimed) => claimed !== null);
      // A transaction that writes keeps other processes waiting, so first look whether there is anything to write.
      const found =
        !group.isIdle ||
        read(() => workers.lacksTerms(worker, terms) || hasClaimableRun(statements, worker, clock.now(), terms));
      if (!(typeof found === "boolean" ? found : await found)) return [];
      const beatFirst = beatIfDue(workers);
      return group.join("soft", () => {
        beatFirst();
        if (terms.rules !== undefined) workers.setTerms(worker, terms);
        const due = claimSome(findDueRuns(statements, worker, clock.now(), { most: limit, terms }), limit);
        const rest = limit - due.length;
        return rest === 0 ? due : [...due, ...claimSome(findRunsNeeding(statements, clock.now(), terms), rest)];
      });
    },
    retireWorker: (worker) => group.join("soft", () => workers.setTerms(worker, {})),
    // One write for all leases: the worker holds them until it releases them or is evicted.
    renew: (worker, claims) =>
      group.join("soft", () => {
        workers.beat();
        return renewLeases(statements, unrenewed, worker, claims);
      }),
    predecessor: async ({ tenant, run, worker, epoch }) =>
      read(() => statements.predecessor.get(tenant, run, worker, epoch)?.prior ?? null),
    holdings: async (tenant, after, most) => {
      assertStorableNames(tenant, after);
      return read(() => statements.holdings.all(tenant, after, most).map((lease) => ({ ...lease, until: null })));
    },
    nextDue: async () => read(() => findNextDue(statements, clock.now())),
  };
}

function releaseMethod({ statements, heads, group, clock }: SqliteContext): Pick<Store, "release"> {
  return {
    release: ({ tenant, run, worker, epoch }) =>
      group.join("soft", () => {
        heads.writeRow(tenant, run);
        statements.release.run(tenant, run, worker, epoch, clock.now());
      }),
  };
}

/**
 * Returns the first operation of a transaction that claims runs. It writes a new beat if the latest beat is old. So an
 * observer that judged the worker as stalled does not evict it after this claim.
 */
function beatIfDue(workers: OwnWorkers): () => void {
  // The decision is made once, so a repeated transaction also writes the beat.
  return workers.isBeatDue ? () => workers.beat() : () => {};
}

/** Counts the leases; skips the query if there is no limit. */
function countLeases(statements: SqliteStatements, { perQueue, perTenant }: ClaimTerms): LeaseCounts {
  const counts = { queues: new Map<string, number>(), tenants: new Map<string, number>() };
  if (perQueue === undefined && perTenant === undefined) return counts;
  for (const { tenant, queue } of statements.held.all()) {
    counts.tenants.set(tenant, (counts.tenants.get(tenant) ?? 0) + 1);
    if (queue !== null) counts.queues.set(queue, (counts.queues.get(queue) ?? 0) + 1);
  }
  return counts;
}

/** Returns whether a claim on these terms would get a run. */
function hasClaimableRun(statements: SqliteStatements, worker: WorkerId, now: Instant, terms: ClaimTerms): boolean {
  return [findDueRuns(statements, worker, now, { most: 1, terms }), findRunsNeeding(statements, now, terms)].some(
    (queued) => selectFairly(queued, 1, terms, countLeases(statements, terms)).length > 0,
  );
}

/** Returns the lost claims, and ends the leases that the worker has not renewed for a while. */
function renewLeases(
  statements: SqliteStatements,
  unrenewed: AbandonedLeases,
  worker: WorkerId,
  claims: readonly Claim[],
): readonly Claim[] {
  const held = new Map(statements.heldBy.all(worker).map((lease) => [leaseName(lease), lease]));
  const renewed = new Set(claims.map(leaseName));
  const leftOut = [...held.keys()].filter((name) => !renewed.has(name));
  for (const name of unrenewed.record(worker, leftOut)) {
    const { tenant, run, epoch } = held.get(name) as HeldLease;
    statements.abandon.run(tenant, run, worker, epoch);
  }
  return claims.filter((claim) => claim.worker !== worker || !held.has(leaseName(claim)));
}

function leaseName({ tenant, run, epoch }: HeldLease): string {
  return `${epoch} ${tenant.length} ${tenant}${run}`;
}

/**
 * Returns due runs, the longest due first: up to `most` of each tenant, queue and rank, because no more can be claimed.
 */
function findDueRuns(
  statements: SqliteStatements,
  worker: WorkerId,
  now: Instant,
  { most, terms }: { readonly most: number; readonly terms: ClaimTerms },
): readonly QueuedRun[] {
  const due: (QueuedRun & { readonly at: number })[] = [];
  const { rules = null, offers = [] } = terms;
  const { own, same, any } = toolsElsewhere(statements, worker, rules, offers);
  for (const { tenant, queue, rank } of queuePositions(statements))
    for (const { run, at } of statements.dueAt.all(tenant, queue, rank, now, most, rules, own, same, any))
      due.push({ tenant, run, queue, priority: -rank, at });
  return due.sort((left, right) => left.at - right.at || compareByRun(left, right));
}

/**
 * Returns JSON lists: the offers of a worker, and what it lacks of the offers of the workers with the same rules and of
 * all workers. Null if it lacks nothing that another one offers, which is the case among equal workers.
 */
function toolsElsewhere(
  statements: SqliteStatements,
  worker: WorkerId,
  rules: Digest | null,
  offers: readonly string[],
): { readonly own: string | null; readonly same: string | null; readonly any: string | null } {
  const others = statements.liveWorkers.all().filter((one) => one.id !== worker && one.rules !== null);
  const own = JSON.stringify(offers);
  const differing = others.filter((one) => one.offers !== null && one.offers !== own);
  const lacking = (some: typeof differing): string | null => {
    const found = some.flatMap((one) => JSON.parse(one.offers ?? "[]") as readonly string[]);
    const lacked = found.filter((one) => !offers.includes(one));
    return lacked.length === 0 ? null : JSON.stringify(lacked);
  };
  const any = differing.length === 0 ? null : lacking(differing);
  return { own, any, same: any === null ? null : lacking(differing.filter((one) => one.rules === rules)) };
}

/** A tenant, queue and rank with due runs. The lowest rank is served first. */
interface QueuePosition {
  readonly tenant: Tenant;
  readonly queue: string;
  readonly rank: number;
}

function* queuePositions({ nextTenant, nextQueue, nextRank }: SqliteStatements): Iterable<QueuePosition> {
  for (const tenant of iterate<Tenant>("" as Tenant, (after) => nextTenant.get(after)))
    for (const queue of iterate("", (after) => nextQueue.get(tenant, after)))
      for (const rank of iterate(Number.MIN_SAFE_INTEGER, (after) => nextRank.get(tenant, queue, after)))
        yield { tenant, queue, rank };
}

/** Yields each value that `next` finds after the one before it. */
function* iterate<Part>(before: Part, next: (after: Part) => { readonly found: Part } | undefined): Iterable<Part> {
  for (let row = next(before); row !== undefined; row = next(row.found)) yield row.found;
}

/** Returns the earliest time after `now` at which a run is due. */
function findNextDue(statements: SqliteStatements, now: Instant): Instant | null {
  let next: Instant | null = null;
  for (const { tenant, queue, rank } of queuePositions(statements)) {
    const at = statements.nextDueAt.get(tenant, queue, rank, now)?.at ?? null;
    if (at !== null && (next === null || at < next)) next = at;
  }
  return next;
}

/** Returns the runs that are not due and have a need that the worker offers. */
function findRunsNeeding(
  statements: SqliteStatements,
  now: Instant,
  { offers = [], rules }: ClaimTerms,
): readonly QueuedRun[] {
  const found: QueuedRun[] = [];
  if (offers.length === 0) return found;
  for (const needs of iterate("", (after) => statements.nextNeeds.get(after))) {
    const isOffered = (JSON.parse(needs) as readonly string[]).some((need) => offers.includes(need));
    if (isOffered) found.push(...statements.needing.all(needs, now, rules ?? null));
  }
  return found.sort(compareByRun);
}

/** Compares by bytes, as SQLite does. */
function compareByRun(left: QueuedRun, right: QueuedRun): number {
  const order = (some: string, other: string) => Buffer.compare(Buffer.from(some), Buffer.from(other));
  return order(left.tenant, right.tenant) || order(left.run, right.run);
}

function markerMethods(
  { statements, group, read }: SqliteContext,
  boot: string,
): Pick<LeaseMethods, "mark" | "marked" | "claims" | "boot"> {
  return {
    boot,
    mark: async (claim, step, attempt) => {
      assertStorableNames(step);
      return group.join("soft", () => writeMarker(statements, claim, step, attempt));
    },
    marked: async (tenant, run, step, attempt, startedUnder) => {
      assertStorableNames(tenant, run, step);
      if (startedUnder !== boot) return "unknown";
      return read(() => {
        if (statements.marked.get(tenant, run, step, attempt) !== undefined) return "yes";
        const isWhole = statements.areAllMarkersCounted.get(tenant, run)?.whole === 1;
        return boot !== "unknown" && isWhole ? "no" : "unknown";
      });
    },
    claims: async (tenant, after, most) => {
      assertStorableNames(tenant, after);
      return read(() => statements.claims.all(tenant, after, most).map(toRunClaims));
    },
  };
}

/** Counts a marker that is new, so that a removed marker is noticed. */
function writeMarker(
  statements: SqliteStatements,
  { tenant, run, worker, epoch }: Claim,
  step: StepId,
  attempt: number,
): boolean {
  if (statements.mark.run(tenant, run, step, attempt, epoch, worker).changes === 1) {
    statements.countMarker.run(tenant, run);
    return true;
  }
  if (statements.holds.get(tenant, run, worker, epoch) === undefined) return false;
  statements.markAgain.run(tenant, run, step, attempt, epoch);
  return true;
}

function toRunClaims({ run, epoch, worker, held, sent, markers }: ClaimColumns): RunClaims {
  return {
    run,
    epoch,
    lease: held === 1 && epoch !== null ? { worker, epoch } : null,
    markers: (JSON.parse(markers) as readonly MarkerColumns[]).map(([step, attempt, marked]) => ({
      step,
      attempt,
      epoch: marked,
    })),
    sent,
  };
}

type MarkerColumns = readonly [step: StepId, attempt: number, epoch: number];
