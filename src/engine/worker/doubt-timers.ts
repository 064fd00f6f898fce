import { getStep, type Run } from "../../core/run/run.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import type { StepId } from "../../core/values/ids.ts";
import { doubtLookIn } from "./doubt-settler.ts";
import type { WorkerPorts } from "./worker-ports.ts";

type DueRun = Pick<Run, "tenant" | "id" | "queue" | "rules">;

/**
 * Timers for runs at rest with an act in doubt. Their rows have times of the wall clock. If the clock was ahead when
 * such a time was computed and is set back, the row is due much too late, so this worker also looks by its stopwatch.
 */
export class DoubtTimers {
  readonly #ports: WorkerPorts;
  readonly #take: (run: DueRun) => Promise<unknown>;
  readonly #disarms = new Map<string, () => void>();

  constructor(ports: WorkerPorts, take: (run: DueRun) => Promise<unknown>) {
    this.#ports = ports;
    this.#take = take;
  }

  /** Claims a run again when one of its doubts is due, a little later than the search for due runs would. */
  lookAgain(run: Run): void {
    if (run.ended !== null || run.parked !== null || run.wakeups.first === null) return;
    let first = Number.POSITIVE_INFINITY;
    for (const [id] of run.waiting) first = Math.min(first, this.#lookIn(run, id) ?? first);
    if (first === Number.POSITIVE_INFINITY) return;
    const { tenant, id, queue, rules } = run;
    const name = `${tenant.length} ${tenant}${id}`;
    this.#disarms.get(name)?.();
    const look = () => {
      this.#disarms.delete(name);
      void this.#take({ tenant, id, queue, rules }).catch(() => {});
    };
    this.#disarms.set(name, this.#ports.loopTimers.after(first + waitTimes.sweepMs, look));
  }

  #lookIn(run: Run, id: string): number | null {
    return doubtLookIn(this.#ports, run.id, getStep(run, { step_id: id as StepId }));
  }

  clear(): void {
    for (const disarm of this.#disarms.values()) disarm();
    this.#disarms.clear();
  }
}
