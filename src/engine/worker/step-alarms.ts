import type { Instant, StepId } from "../../core/values/ids.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/** Timers that wake the steps of a leased run. Each step has at most one. */
export class StepAlarms {
  readonly #ports: Pick<WorkerPorts, "clock" | "timers">;
  readonly #disarms = new Map<StepId, () => void>();
  #cleared = false;

  constructor(ports: Pick<WorkerPorts, "clock" | "timers">) {
    this.#ports = ports;
  }

  /** Sets the alarm of a step and replaces an earlier one. */
  set(step: StepId, at: Instant, wake: () => void): void {
    if (this.#cleared) return;
    const { clock, timers } = this.#ports;
    this.#disarms.get(step)?.();
    const ring = () => {
      this.#disarms.delete(step);
      if (clock.now() < at) this.set(step, at, wake);
      else wake();
    };
    this.#disarms.set(step, timers.after(Math.max(0, at - clock.now()), ring));
  }

  /** Cancels all alarms for good. */
  clear(): void {
    this.#cleared = true;
    if (this.#disarms.size === 0) return; // `clear` allocates, also if there is nothing to clear.
    for (const disarm of this.#disarms.values()) disarm();
    this.#disarms.clear();
  }
}
