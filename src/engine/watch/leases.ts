import type { RunId, Tenant, WorkerId } from "../../core/id.ts";
import type { Claim, ClaimTerms, Store } from "../../core/store.ts";
import type { Stopwatch } from "../../core/time/clock.ts";

/**
 * The claims of this worker, and how long ago the store last said that they are its own. By the stopwatch alone, from when
 * the store was asked: a process that stood still may hear an old answer and cannot tell by the time of day.
 */
export class Leases {
  readonly #store: Store;
  readonly #worker: WorkerId;
  readonly #stopwatch: Stopwatch;
  readonly #terms: ClaimTerms;
  readonly #provenAt = new WeakMap<Claim, number>();
  /** What was renewed last. */
  #kept: readonly Claim[] = [];

  constructor(store: Store, worker: WorkerId, stopwatch: Stopwatch, terms: ClaimTerms) {
    this.#store = store;
    this.#worker = worker;
    this.#stopwatch = stopwatch;
    this.#terms = terms;
  }

  /** The same worker's on another store, from which it takes anything. */
  on(store: Store): Leases {
    return new Leases(store, this.#worker, this.#stopwatch, {});
  }

  /** Whether a run of this queue may be claimed out of turn: where there are limits, only those that are claimed in turn are counted. */
  takesAtOnce(queue: string): boolean {
    const { perQueue = {}, perTenant } = this.#terms;
    return this.serves(queue) && perTenant === undefined && !Object.hasOwn(perQueue, queue);
  }

  /** Whether a run that needs this may be taken here. */
  has(need: string): boolean {
    return this.#terms.offers?.includes(need) === true;
  }

  serves(queue: string): boolean {
    const { queues } = this.#terms;
    return queues === undefined || queues.includes(queue);
  }

  async claim(tenant: Tenant, run: RunId): Promise<Claim | null> {
    const asked = this.#stopwatch();
    const claim = await this.#store.claim(this.#worker, tenant, run);
    if (claim !== null) this.#provenAt.set(claim, asked);
    return claim;
  }

  async claimDue(most: number): Promise<readonly Claim[]> {
    const asked = this.#stopwatch();
    const claims = await this.#store.claimDue(this.#worker, most, this.#terms);
    for (const claim of claims) this.#provenAt.set(claim, asked);
    return claims;
  }

  /** Renews all that this worker has. Answers with those that are lost. */
  renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    this.#kept = claims;
    return this.#renew(claims);
  }

  async #renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    const asked = this.#stopwatch();
    const lost = await this.#store.renew(claims);
    for (const claim of claims) this.#provenAt.set(claim, asked);
    for (const claim of lost) this.#provenAt.delete(claim);
    return lost;
  }

  /** Whether the run was seen to be held here within the last half of a lease. */
  isProven(claim: Claim): boolean {
    return this.#stopwatch() - (this.#provenAt.get(claim) ?? Number.NEGATIVE_INFINITY) <= this.#store.leaseMs / 2;
  }

  /** Whether it is held here still. Nobody is called on a lease that may have run out while this process stood still. */
  async holds(claim: Claim): Promise<boolean> {
    while (!this.isProven(claim)) {
      // All of them: what a store was told last is what it goes on renewing by itself while this process stands still.
      const all = this.#kept.includes(claim) ? this.#kept : [...this.#kept, claim];
      if ((await this.#renew(all)).includes(claim)) return false;
    }
    return true;
  }
}
