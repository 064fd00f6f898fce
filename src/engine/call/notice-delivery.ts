import type { Notice } from "../../core/event/event.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import { isStoreFault } from "../journal/append-errors.ts";
import type { CallContext } from "./call-context.ts";
import type { CallPorts } from "./call-ports.ts";

/** A notice that is not delivered yet, and the number of failed deliveries. */
interface Delivery {
  readonly notice: Notice;
  failures: number;
  cancelRetry: () => void;
}

/**
 * Delivers the committed notices of a run, each at least once, with the id of its commit. Notices are delivered one at a
 * time and in order. A notice that is not accepted is tried again later, and delays no other.
 */
export class NoticeDelivery {
  readonly #context: CallContext;
  readonly #onNotice: CallPorts["onNotice"];
  readonly #open = new Map<string, Delivery>();
  readonly #due: Delivery[] = [];
  #working = false;
  #draining = false;
  #stopped = false;

  constructor(context: CallContext) {
    this.#context = context;
    this.#onNotice = context.ports.onNotice;
  }

  /** True if a notice is not delivered yet: the run must not be released. */
  get busy(): boolean {
    return this.#open.size > 0;
  }

  /** The number of notices in delivery or due, without those that wait for another try. */
  get underWay(): number {
    return this.#working ? 1 + this.#due.length : 0;
  }

  /** Delivers the notices that are due, up to the first that is not accepted. */
  drain(): void {
    this.#draining = true;
  }

  /** Delivers notices; by default, all notices of the run that are not delivered yet. */
  deliver(notices: readonly Notice[] = sortNotices(this.#context.mailbox.run.notices)): void {
    if (this.#stopped) return;
    for (const notice of notices) {
      if (this.#open.has(notice.notice_id) || (this.#onNotice === null && notice.kin === undefined)) continue;
      const delivery = { notice, failures: 0, cancelRetry: () => {} };
      this.#open.set(notice.notice_id, delivery);
      this.#due.push(delivery);
    }
    void this.#work();
  }

  stop(): void {
    this.#stopped = true;
    for (const { cancelRetry } of this.#open.values()) cancelRetry();
  }

  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    for (let next = this.#due.shift(); next !== undefined && !this.#stopped; next = this.#due.shift())
      await this.#context.require(this.#deliverOne(next));
    this.#working = false;
    this.#context.releaseIfAtRest();
  }

  /** A notice that is not accepted is tried again. Errors of the journal end the lease. */
  async #deliverOne(delivery: Delivery): Promise<void> {
    const { ports, mailbox } = this.#context;
    const { notice_id } = delivery.notice;
    if (!(await this.#isAccepted(delivery.notice))) return this.#tryLater(delivery);
    try {
      await mailbox.ask(() => ({ type: "deliver", now: ports.clock.now(), notice_id }));
      this.#open.delete(notice_id);
    } catch (error) {
      if (!isStoreFault(error)) throw error;
      this.#tryLater(delivery);
    }
  }

  async #isAccepted(notice: Notice): Promise<boolean> {
    const { ports, mailbox, childRuns } = this.#context;
    let disarm = () => {};
    const late = new Promise<false>((resolve) => {
      disarm = ports.timers.after(ports.limits.noticeMs, () => resolve(false));
    });
    const offer = async () => {
      if (notice.kin === undefined)
        await this.#onNotice?.({ ...notice, run_id: mailbox.run.id, tenant: mailbox.run.tenant });
      else await childRuns.deliver(mailbox.run, notice);
      return true;
    };
    try {
      if (isFromTool(notice) && (await this.#isHalted())) return false;
      ports.failpoint("notice.before");
      const accepted = await Promise.race([offer(), late]);
      if (accepted) ports.failpoint("notice.after");
      return accepted;
    } catch {
      return false;
    } finally {
      disarm();
    }
  }

  /** The notices of a halted run wait. */
  async #isHalted(): Promise<boolean> {
    const { ports, mailbox } = this.#context;
    const refreshing = ports.halts.refreshIfStale(mailbox.run);
    if (refreshing !== null) await refreshing;
    return ports.halts.of(mailbox.run).halt !== null;
  }

  #tryLater(delivery: Delivery): void {
    if (this.#draining) this.#due.length = 0;
    if (this.#stopped || this.#draining) return;
    const pauseMs = Math.min(waitTimes.noticeRetryMaxMs, waitTimes.noticeRetryMinMs * 2 ** delivery.failures);
    delivery.failures += 1;
    delivery.cancelRetry = this.#context.ports.timers.after(pauseMs, () => {
      this.#due.push(delivery);
      void this.#work();
    });
  }
}

/** A notice of the run itself has an exclamation mark in its id, which no step id can have. */
function isFromTool({ notice_id }: Notice): boolean {
  return !notice_id.includes("_!");
}

/** Sorts the notices of each step by the number at the end of their ids. */
function sortNotices(notices: Iterable<readonly [string, Notice]>): readonly Notice[] {
  const numbered = Array.from(notices, ([id, notice]) => {
    const cut = id.lastIndexOf("_");
    return { of: id.slice(0, cut), number: Number(id.slice(cut + 1)), notice };
  });
  numbered.sort((left, right) => (left.of === right.of ? left.number - right.number : left.of < right.of ? -1 : 1));
  return numbered.map(({ notice }) => notice);
}
