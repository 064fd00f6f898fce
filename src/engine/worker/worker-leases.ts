import type { Stopwatch } from "../../core/ports/clock.ts";
import type { Claim, ClaimTerms, Store } from "../../core/store/store.ts";
import type { Epoch, RunId, Tenant, WorkerId } from "../../core/values/ids.ts";

/**
 * The claims of this worker, and when the store last confirmed each. Times come from a monotonic clock and count from
 * the request: a process that was suspended may receive an old answer.
 */
export class WorkerLeases {
  readonly #store: Store;
  readonly worker: WorkerId;
  readonly #stopwatch: Stopwatch;
  #terms: ClaimTerms;
  readonly #provenAt = new WeakMap<Claim, number>();
  /** The claims that were last renewed. */
  #renewed: readonly Claim[] = [];

  constructor(store: Store, worker: WorkerId, stopwatch: Stopwatch, terms: ClaimTerms) {
    this.#store = store;
    this.worker = worker;
    this.#stopwatch = stopwatch;
    this.#terms = terms;
  }

  /** Registers the worker with the store, before its first claim. */
  register(): Promise<void> {
    return this.#store.registerWorker(this.worker, this.#terms);
  }

  /** Changes what this worker offers. The next `claimDue` records it. */
  setOffers(offers: readonly string[]): void {
    this.#terms = { ...this.#terms, offers };
  }

  /** Asks the worker that holds a run for it. Returns whether another worker holds the run. */
  ask(tenant: Tenant, run: RunId): Promise<boolean> {
    return this.#store.ask(this.worker, tenant, run);
  }

  withdrawAsk(tenant: Tenant, run: RunId): Promise<void> {
    return this.#store.withdrawAsk(this.worker, tenant, run);
  }

  /** Returns the leases of this worker on another store, without limits. */
  withStore(store: Store): WorkerLeases {
    const { offers = [] } = this.#terms;
    return new WorkerLeases(store, this.worker, this.#stopwatch, { offers });
  }

  /** Returns whether a run of this queue may be claimed directly. Limits only count claims by `claimDue`. */
  claimsImmediately(queue: string): boolean {
    const { perQueue = {}, perTenant } = this.#terms;
    return this.serves(queue) && perTenant === undefined && !Object.hasOwn(perQueue, queue);
  }

  /** Returns whether this worker offers what a waiting run needs. */
  offers(need: string): boolean {
    return this.#terms.offers?.includes(need) === true;
  }

  serves(queue: string): boolean {
    const { queues } = this.#terms;
    return queues === undefined || queues.includes(queue);
  }

  async claim(tenant: Tenant, run: RunId): Promise<Claim | null> {
    const askedAt = this.#stopwatch();
    const claim = await this.#store.claim(this.worker, tenant, run);
    if (claim !== null) this.#provenAt.set(claim, askedAt);
    return claim;
  }

  /** Returns the claim that this worker will have on a new run, which no other worker knows. It is not held yet. */
  presume(tenant: Tenant, run: RunId): Claim {
    return { tenant, run, worker: this.worker, epoch: 1 as Epoch };
  }

  /** Claims a new run with its presumed claim. Returns false if the store failed, or another worker was first. */
  async claimNew(presumed: Claim): Promise<boolean> {
    if (this.holds(presumed)) return true;
    const askedAt = this.#stopwatch();
    const claim = await this.#store.claim(this.worker, presumed.tenant, presumed.run).catch(() => null);
    if (claim?.epoch === presumed.epoch) this.#provenAt.set(presumed, askedAt);
    else if (claim !== null) await this.#store.release(claim).catch(() => {}); // Another worker held it and left.
    return this.holds(presumed);
  }

  /** Returns whether the store has confirmed the claim, and has not reported it as lost. */
  holds(claim: Claim): boolean {
    return this.#provenAt.has(claim);
  }

  async claimDue(most: number): Promise<readonly Claim[]> {
    const askedAt = this.#stopwatch();
    const claims = await this.#store.claimDue(this.worker, most, this.#terms);
    for (const claim of claims) this.#provenAt.set(claim, askedAt);
    return claims;
  }

  /** Lets others claim the runs with the rules of this worker, which claims no more. It keeps its leases. */
  async retire(): Promise<void> {
    await this.#store.retireWorker(this.worker).catch(() => {});
  }

  /** Renews the claims and returns those that are lost. */
  renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    this.#renewed = claims;
    return this.#renew(claims);
  }

  async #renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    const askedAt = this.#stopwatch();
    const lost = await this.#store.renew(this.worker, claims);
    for (const claim of claims) this.#provenAt.set(claim, askedAt);
    for (const claim of lost) this.#provenAt.delete(claim);
    return lost;
  }

  /** Returns whether the store confirmed the claim within the last half of a lease. */
  isProven(claim: Claim): boolean {
    return this.#stopwatch() - (this.#provenAt.get(claim) ?? Number.NEGATIVE_INFINITY) <= this.#store.leaseMs / 2;
  }

  /**
   * Returns whether this worker still has the claim. No tool is called on a lease that may have expired while the
   * process was suspended.
   */
  async confirm(claim: Claim): Promise<boolean> {
    while (!this.isProven(claim)) {
      // Renew all claims: a store may go on renewing the last list by itself while this process is suspended.
      const all = this.#renewed.includes(claim) ? this.#renewed : [...this.#renewed, claim];
      if ((await this.#renew(all)).includes(claim)) return false;
    }
    return true;
  }
}
