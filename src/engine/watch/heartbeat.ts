import type { Ports } from "../ports.ts";
import type { Holds } from "./holds.ts";

/** Leases are renewed so many times while they last, which leaves room for two lost renewals. */
const RENEWALS = 3;

/** Keeps what this engine holds, by a clock of its own: a lease must not depend on what else there is to read or to claim. */
export class Heartbeat {
  readonly #ports: Ports;
  readonly #holds: Holds;
  readonly #everyMs: number;
  #beating: Promise<void> | null = null;
  #dueAt = 0;
  #disarm: () => void = () => {};
  #stopped = false;

  constructor(ports: Ports, holds: Holds) {
    this.#ports = ports;
    this.#holds = holds;
    this.#everyMs = Math.floor(ports.store.leaseMs / RENEWALS);
  }

  start(): void {
    this.#arm(this.#everyMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#disarm();
  }

  /** Renews what has to be by now. Rejects if the store cannot say what is kept: claiming then would fence what ran out here. */
  ifDue(): Promise<void> {
    if (this.#beating === null && this.#ports.clock.now() < this.#dueAt) return Promise.resolve();
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = null;
    });
    return this.#beating;
  }

  async #beat(): Promise<void> {
    const now = this.#ports.clock.now();
    const lost = await this.#ports.leases.renew(this.#holds.claims());
    this.#dueAt = now + this.#everyMs;
    for (const claim of lost) this.#holds.lost(claim);
  }

  #arm(ms: number): void {
    if (this.#stopped) return;
    this.#disarm = this.#ports.timers.after(ms, () => void this.#ring());
  }

  async #ring(): Promise<void> {
    await this.ifDue().catch(() => {});
    const untilDue = this.#dueAt - this.#ports.clock.now();
    // If it could not be done it is tried again soon: there may be time for that before the lease is over.
    this.#arm(untilDue > 0 ? untilDue : Math.ceil(this.#everyMs / 4));
  }
}
