import type { Instant, StepId } from "../../core/values/ids.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/** Timers that wake the steps of a leased run. Each step has at most one. */
export class StepAlarms {
  readonly #ports: Pick<WorkerPorts, "clock" | "timers">;
  readonly #alarms = new Map<StepId, { readonly disarm: () => void; readonly reset: () => void }>();
  #cleared = false;

  constructor(ports: Pick<WorkerPorts, "clock" | "timers">) {
    this.#ports = ports;
  }

  /** Sets the alarm of a step and replaces an earlier one. */
  set(step: StepId, at: Instant, wake: () => void): void {
    if (this.#cleared) return;
    const { clock, timers } = this.#ports;
    this.#alarms.get(step)?.disarm();
    const ring = () => {
      this.#alarms.delete(step);
      if (clock.now() < at) this.set(step, at, wake);
      else wake();
    };
    const disarm = timers.after(Math.max(0, at - clock.now()), ring);
    this.#alarms.set(step, { disarm, reset: () => this.set(step, at, wake) });
  }

  /** Sets an alarm that rings after a time, also if the clock is set meanwhile, and replaces an earlier one. */
  setAfter(step: StepId, ms: number, wake: () => void): void {
    if (this.#cleared) return;
    this.#alarms.get(step)?.disarm();
    const ring = () => {
      this.#alarms.delete(step);
      wake();
    };
    this.#alarms.set(step, { disarm: this.#ports.timers.after(ms, ring), reset: () => {} });
  }

  /** Sets all alarms again, because the clock was set. */
  reset(): void {
    for (const { reset } of [...this.#alarms.values()]) reset();
  }

  /** Cancels all alarms for good. */
  clear(): void {
    this.#cleared = true;
    if (this.#alarms.size === 0) return; // `clear` allocates, also if there is nothing to clear.
    for (const { disarm } of this.#alarms.values()) disarm();
    this.#alarms.clear();
  }
}
