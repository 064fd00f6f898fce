import type { LeasedRuns } from "./leased-runs.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/** Renewals per lease time. Two renewals may fail before a lease expires. */
const RENEWALS_PER_LEASE = 3;

/** Renews the leases of this worker by its own timer, independent of reads and claims. */
export class LeaseHeartbeat {
  readonly #ports: WorkerPorts;
  readonly #leasedRuns: LeasedRuns;
  readonly #everyMs: number;
  #renewing: Promise<void> | null = null;
  #dueAt = 0;
  #disarm: () => void = () => {};
  #stopped = false;

  constructor(ports: WorkerPorts, leasedRuns: LeasedRuns) {
    this.#ports = ports;
    this.#leasedRuns = leasedRuns;
    this.#everyMs = Math.floor(ports.store.leaseMs / RENEWALS_PER_LEASE);
  }

  /** Called when the worker has registered, before its first claim. */
  start(): void {
    this.#dueAt = this.#ports.clock.now() + this.#everyMs;
    this.#arm(this.#everyMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#disarm();
  }

  /** Renews the leases if it is time. Rejects if the store fails: a claim would then fence leases that expired here. */
  renewIfDue(): Promise<void> {
    if (this.#renewing === null && this.#untilDue() > 0) return Promise.resolve();
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  /** Returns how long to wait for the next renewal. 0: renew now. A clock that was set back also gives 0. */
  #untilDue(): number {
    const ms = this.#dueAt - this.#ports.clock.now();
    return ms > this.#everyMs ? 0 : Math.max(0, ms);
  }

  async #renew(): Promise<void> {
    const now = this.#ports.clock.now();
    const lost = await this.#ports.leases.renew(this.#leasedRuns.claims());
    this.#dueAt = now + this.#everyMs;
    for (const claim of lost) this.#leasedRuns.onLeaseLost(claim);
  }

  #arm(ms: number): void {
    if (this.#stopped) return;
    this.#disarm = this.#ports.loopTimers.after(ms, () => void this.#renewAndArm());
  }

  async #renewAndArm(): Promise<void> {
    await this.renewIfDue().catch(() => {});
    const untilDue = this.#untilDue();
    // After a failure, try again soon: the lease may not have expired yet.
    this.#arm(untilDue > 0 ? untilDue : Math.ceil(this.#everyMs / 4));
  }
}
