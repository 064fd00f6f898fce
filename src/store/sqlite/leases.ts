import type { Epoch, Instant, RunId, Tenant, WorkerId } from "../../core/id.ts";
import { assertNames } from "../../core/judge.ts";
import type { Claim, ClaimTerms, Store } from "../../core/store.ts";
import { type Load, turns, type Waiter } from "../../core/turns.ts";
import type { Context } from "./context.ts";
import type { Statements } from "./statements.ts";

type Leases = Pick<
  Store,
  "claim" | "claimDue" | "renew" | "predecessor" | "release" | "holdings" | "nextDue" | "mark" | "marked" | "boot"
>;

/** Who holds which run, and what was sent under which claim. None of it is a fact of a run, so none of it is synced. */
export function leases(context: Context, boot: string): Leases {
  return { ...claims(context), ...markers(context, boot) };
}

function claims({ statements, group, clock, leaseMs, read }: Context): Omit<Leases, "mark" | "marked" | "boot"> {
  const take = (worker: WorkerId, tenant: Tenant, run: RunId): Claim | null => {
    const now = clock.now();
    const taken = statements.claim.get(tenant, run, worker, now + leaseMs, now);
    return taken === undefined ? null : { tenant, run, worker, epoch: taken.epoch as Epoch };
  };
  const renew = ({ tenant, run, worker, epoch }: Claim): boolean =>
    statements.renew.run(clock.now() + leaseMs, tenant, run, worker, epoch).changes === 1;
  /** Counted only where there is a limit. */
  const loadOf = ({ perQueue, perTenant }: ClaimTerms): Load => {
    const load = { queues: new Map<string, number>(), tenants: new Map<string, number>() };
    if (perQueue === undefined && perTenant === undefined) return load;
    for (const { tenant, queue } of statements.held.all(clock.now())) {
      load.tenants.set(tenant, (load.tenants.get(tenant) ?? 0) + 1);
      if (queue !== null) load.queues.set(queue, (load.queues.get(queue) ?? 0) + 1);
    }
    return load;
  };
  return {
    claim: async (worker, tenant, run) => {
      assertNames(worker, tenant, run);
      return group.join("soft", () => take(worker, tenant, run));
    },
    claimDue: async (worker, limit, terms = {}) => {
      assertNames(worker);
      const takeOf = (waiters: readonly Waiter[], most: number): readonly Claim[] =>
        turns(waiters, most, terms, loadOf(terms))
          .map(({ tenant, run }) => take(worker, tenant, run))
          .filter((claim) => claim !== null);
      return group.join("soft", () => {
        const taken = takeOf(dueOf(statements, clock.now(), limit), limit);
        const left = limit - taken.length;
        return left === 0 ? taken : [...taken, ...takeOf(needing(statements, clock.now(), terms), left)];
      });
    },
    renew: (all) => group.join("soft", () => all.filter((claim) => !renew(claim))),
    predecessor: async ({ tenant, run, worker, epoch }) =>
      read(() => statements.predecessor.get(tenant, run, worker, epoch)?.prior ?? null),
    release: ({ tenant, run, worker, epoch }) =>
      group.join("soft", () => void statements.release.run(tenant, run, worker, epoch)),
    holdings: async (tenant, after, most) => {
      assertNames(tenant, after);
      return read(() => statements.holdings.all(tenant, after, clock.now(), most)).map((held) => ({ ...held }));
    },
    nextDue: async () => read(() => (statements.nextDue.get(clock.now())?.at ?? null) as Instant | null),
  };
}

/** The longest due first. Of each place as many as could be taken: whoever comes after them there has a later turn. */
function dueOf(statements: Statements, now: Instant, most: number): readonly Waiter[] {
  const due: (Waiter & { readonly at: number })[] = [];
  for (const { tenant, queue, rank } of places(statements))
    for (const { run, at } of statements.dueAt.all(tenant, queue, rank, now, most))
      due.push({ tenant, run, queue, priority: -rank, at });
  return due.sort((left, right) => left.at - right.at || byName(left, right));
}

/** Where due runs of one tenant wait, the lowest rank first. */
interface Place {
  readonly tenant: Tenant;
  readonly queue: string;
  readonly rank: number;
}

function* places({ nextTenant, nextQueue, nextRank }: Statements): Iterable<Place> {
  for (const tenant of walk<Tenant>("" as Tenant, (after) => nextTenant.get(after)))
    for (const queue of walk("", (after) => nextQueue.get(tenant, after)))
      for (const rank of walk(Number.MIN_SAFE_INTEGER, (after) => nextRank.get(tenant, queue, after)))
        yield { tenant, queue, rank };
}

/** One after the other, until there is none. */
function* walk<Part>(before: Part, next: (after: Part) => { readonly found: Part } | undefined): Iterable<Part> {
  for (let step = next(before); step !== undefined; step = next(step.found)) yield step.found;
}

/** Those that are not due, but need something that is offered. */
function needing(statements: Statements, now: Instant, { offers = [] }: ClaimTerms): readonly Waiter[] {
  const found: Waiter[] = [];
  if (offers.length === 0) return found;
  for (const needs of walk("", (after) => statements.nextNeeds.get(after))) {
    const isOffered = (JSON.parse(needs) as readonly string[]).some((need) => offers.includes(need));
    if (isOffered) found.push(...statements.needing.all(needs, now));
  }
  return found.sort(byName);
}

/** By bytes, as the file has them. */
function byName(left: Waiter, right: Waiter): number {
  const order = (some: string, other: string) => Buffer.compare(Buffer.from(some), Buffer.from(other));
  return order(left.tenant, right.tenant) || order(left.run, right.run);
}

function markers({ statements, group, read }: Context, boot: string): Pick<Leases, "mark" | "marked" | "boot"> {
  return {
    boot,
    mark: async ({ tenant, run, epoch }, step, attempt) => {
      assertNames(step);
      return group.join("soft", () => statements.mark.run(step, attempt, tenant, run, epoch).changes === 1);
    },
    marked: async (tenant, run, step, attempt, startedUnder) => {
      assertNames(tenant, run, step);
      if (startedUnder !== boot) return "unknown";
      if (read(() => statements.marked.get(tenant, run, step, attempt)) !== undefined) return "yes";
      return boot === "unknown" ? "unknown" : "no";
    },
  };
}
