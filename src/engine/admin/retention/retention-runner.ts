import { pendingRetentions } from "../../../core/settings/retention-events.ts";
import type { Claim } from "../../../core/store/store.ts";
import { waitTimes } from "../../../core/time/wait-times.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";
import type { DatabaseLogTruncation } from "./database-log-truncation.ts";
import { readRetentionEvents } from "./retention-journal.ts";
import { continueRetention } from "./run-retention.ts";

/** Continues the retentions of a tenant that are due. A worker claims their journal like a run. */
export class RetentionRunner {
  readonly #ports: WorkerPorts;
  readonly #logTruncation: DatabaseLogTruncation;

  constructor(ports: WorkerPorts, logTruncation: DatabaseLogTruncation) {
    this.#ports = ports;
    this.#logTruncation = logTruncation;
  }

  /** Does not wait: an erasure takes long, and other runs are due. Keeps the lease, so that no other worker begins. */
  fire(claim: Claim): void {
    void this.#continueAll(claim).catch(() => this.#releaseLater(claim));
  }

  async #continueAll(claim: Claim): Promise<void> {
    const { tenant } = claim;
    const pending = pendingRetentions(await readRetentionEvents(this.#ports, tenant));
    let isOver = true;
    for (const one of pending) {
      if (one.continue_at > this.#ports.clock.now()) continue;
      if ((await continueRetention(this.#ports, this.#logTruncation, tenant, one)) === "pending") isOver = false;
    }
    if (isOver) await this.#ports.store.release(claim);
    else this.#releaseLater(claim);
  }

  /** The store is unavailable or in use, or a process reads its log. Later, this or another worker claims it again. */
  #releaseLater(claim: Claim): void {
    this.#ports.loopTimers.after(waitTimes.retentionContinueMs, () => {
      void this.#ports.store.release(claim).catch(() => {});
    });
  }
}
