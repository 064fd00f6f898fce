import { runClosedFault } from "../../core/decide/proposed-events.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { loadRun } from "../journal/load-run.ts";
import type { LeasedRun } from "../worker/leased-run.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import { obtainRun } from "../worker/obtain-run.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

interface LeaseTerms {
  readonly tenant: Tenant;
  readonly run: RunId;
  readonly releaseMs: number;
}

/** The lease of an open run, kept from call to call until the run is closed, released or idle. */
export class SessionLease {
  readonly #ports: WorkerPorts;
  readonly #leasedRuns: LeasedRuns;
  readonly #terms: LeaseTerms;
  #kept: LeasedRun | null = null;
  #users = 0;
  #disarm: () => void = () => {};

  constructor(ports: WorkerPorts, leasedRuns: LeasedRuns, terms: LeaseTerms) {
    this.#ports = ports;
    this.#leasedRuns = leasedRuns;
    this.#terms = terms;
  }

  /** Takes the lease. If another process holds the run, asks for it for `waitMs`, then throws SESSION_BUSY. */
  async take(waitMs: number): Promise<LeasedRun> {
    this.#leasedRuns.assertOpen();
    if (this.#kept !== null && !this.#kept.isReleased) return this.#kept;
    const { tenant, run } = this.#terms;
    for (;;) {
      const leased = (await this.#leasedRuns.take(tenant, run)) ?? (await this.#ask(waitMs));
      if (leased === null) throw this.#busy();
      // A search for due runs may have claimed the run, found nothing to do and released it.
      if (!leased.isReleased) return this.#keep(leased);
    }
  }

  /** Asks the process that holds the run for it. A process whose calls all rest gives it up. */
  async #ask(waitMs: number): Promise<LeasedRun | null> {
    if (waitMs === 0) return null;
    const { tenant, run: id } = this.#terms;
    const { run } = await loadRun(this.#ports.store, tenant, id);
    return obtainRun(this.#ports, this.#leasedRuns, run, waitMs);
  }

  async #keep(leased: LeasedRun): Promise<LeasedRun> {
    const kept = this.#kept;
    if (kept !== leased) {
      this.#kept = leased;
      leased.keep();
    }
    await leased.begin();
    if (!leased.run.open) throw new FaultError(runClosedFault(leased.run));
    if (leased.run.parked !== null) throw this.#parked();
    if (leased.isReleased) throw this.#busy();
    return leased;
  }

  #parked(): FaultError {
    const { run } = this.#terms;
    const message = `run ${run} of the session is parked; a person reads why, and releases it: writ resume ${run}`;
    return new FaultError(fault("NOT_POSSIBLE", message, { run_id: run }));
  }

  #busy(): FaultError {
    const message = `another process holds run ${this.#terms.run} of the session; wait until it releases the run`;
    return new FaultError(fault("SESSION_BUSY", message, { run_id: this.#terms.run }));
  }

  /** Does work under the lease. The run is not idle meanwhile. */
  async use<Result>(work: (leased: LeasedRun) => Promise<Result>): Promise<Result> {
    this.#disarm();
    this.#users += 1;
    try {
      return await work(await this.take(0));
    } finally {
      this.#users -= 1;
      this.rest();
    }
  }

  /** Releases the run after the idle time, unless a call comes before. */
  rest(): void {
    if (this.#users > 0 || this.#kept === null) return;
    this.#disarm();
    this.#disarm = this.#ports.loopTimers.after(this.#terms.releaseMs, () => this.#onIdle());
  }

  /** The run is not idle while its host does a call itself. */
  #onIdle(): void {
    if (this.#kept?.calls.hasHostAtWork) this.rest();
    else void this.release();
  }

  /** Throws SESSION_BUSY if the lease is lost. */
  async confirm(leased: LeasedRun): Promise<void> {
    if (await this.#ports.leases.confirm(leased.claim)) return;
    leased.fence();
    throw this.#busy();
  }

  /** Gives the run up, and waits until other processes can take it. Refused while its host does a call itself. */
  async release(): Promise<void> {
    if (this.#kept?.calls.hasHostAtWork && !this.#kept.isReleased) {
      const message = `the host does a call of run ${this.#terms.run} itself; end the call, then release the run`;
      throw new FaultError(fault("NOT_POSSIBLE", message, { run_id: this.#terms.run }));
    }
    const leased = this.end();
    if (leased === null) return;
    for (let changed = this.#leasedRuns.nextChange(); !leased.isReleased; changed = this.#leasedRuns.nextChange()) {
      if (leased.isKept) return; // Another handle of this process keeps it.
      await changed;
    }
    await this.#leasedRuns.releases();
  }

  /** Keeps the run no longer: it is released when its calls rest. Returns the lease that was kept. */
  end(): LeasedRun | null {
    this.#disarm();
    const leased = this.#kept;
    this.#kept = null;
    leased?.unkeep();
    return leased;
  }
}
