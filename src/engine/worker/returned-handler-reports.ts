import type { Command } from "../../core/decide/command.ts";
import { findStep, type Run } from "../../core/run/run.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import type { ActAttempt } from "../call/acts-in-flight.ts";
import { handlerEnded } from "./doubt-settler.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/** Decides a command of any run, leased here or not. */
type AskRun = (tenant: Tenant, run: RunId, make: (run: Run) => Command) => Promise<unknown>;

/**
 * The acts of lost leases whose handlers have returned. Another worker settles them, and relies on no verifier while
 * this worker lives and their handlers may run. So this worker records that they have returned.
 */
export class ReturnedHandlerReports {
  readonly #ports: WorkerPorts;
  readonly #ask: AskRun;
  readonly #pending = new Set<ActAttempt>();
  #sending = false;

  constructor(ports: WorkerPorts, ask: AskRun) {
    this.#ports = ports;
    this.#ask = ask;
  }

  add(act: ActAttempt): void {
    this.#pending.add(act);
  }

  /** Records what can be recorded now. The rest is recorded when the next worker has recovered the run. */
  async send(): Promise<void> {
    if (this.#sending || this.#pending.size === 0) return;
    this.#sending = true;
    for (const act of [...this.#pending]) await this.#send(act).catch(() => {});
    this.#sending = false;
  }

  async #send(act: ActAttempt): Promise<void> {
    let isOver = true;
    await this.#ask(act.tenant, act.run, (run) => {
      const step = findStep(run, act.step);
      const standing = step?.standing;
      isOver = standing?.state !== "running" || standing.attempt !== act.attempt;
      const isAwaited =
        standing?.state === "in_doubt" &&
        standing.doubt.alive &&
        step?.act?.sent.every(({ attempt }) => attempt === act.attempt);
      const now = this.#ports.clock.now();
      return step !== undefined && isAwaited
        ? handlerEnded(this.#ports, step)
        : { type: "recover", now, found: [], taken: null, rules: null };
    });
    if (isOver) this.#pending.delete(act);
  }
}
