import type { Instant, StepId } from "../../core/id.ts";
import type { Ports } from "../ports.ts";

/** What wakes the steps of a held run when their time comes: at most one alarm for each. */
export class Alarms {
  readonly #ports: Pick<Ports, "clock" | "timers">;
  readonly #disarms = new Map<StepId, () => void>();
  #cleared = false;

  constructor(ports: Pick<Ports, "clock" | "timers">) {
    this.#ports = ports;
  }

  /** Replaces the step's alarm, if it has one. */
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

  /** For good: the run has left. */
  clear(): void {
    this.#cleared = true;
    for (const disarm of this.#disarms.values()) disarm();
    this.#disarms.clear();
  }
}
