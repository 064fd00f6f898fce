import type { Notice } from "../../core/event.ts";
import type { Ports } from "../ports.ts";
import { isStoreFault } from "../record/mailbox.ts";
import type { Hold } from "./hold.ts";

/** A notice on its way, and how often nobody took it. */
interface Delivery {
  readonly notice: Notice;
  failures: number;
  disarm: () => void;
}

/**
 * Carries out the notices of a run after they were committed: at least once each, under the id they were committed with. One
 * after the other, in the order they were given; one that nobody takes is tried again by itself, and holds up no other.
 */
export class Deliveries {
  readonly #hold: Hold;
  readonly #onNotice: Ports["onNotice"];
  readonly #open = new Map<string, Delivery>();
  readonly #due: Delivery[] = [];
  #working = false;
  #draining = false;
  #stopped = false;

  constructor(hold: Hold) {
    this.#hold = hold;
    this.#onNotice = hold.way.ports.onNotice;
  }

  /** While true, the run is not let go. */
  get busy(): boolean {
    return this.#open.size > 0;
  }

  /** How many are on their way or next in turn, not counting those that nobody took. */
  get underWay(): number {
    return this.#working ? 1 + this.#due.length : 0;
  }

  /** Each that is due has its turn; behind one that nobody takes, none. */
  drain(): void {
    this.#draining = true;
  }

  /** Takes on those that were just committed; by default, all that the run has. */
  deliver(notices: readonly Notice[] = inOrder(this.#hold.way.mailbox.run.notices)): void {
    if (this.#stopped) return;
    for (const notice of notices) {
      if (this.#open.has(notice.notice_id) || (this.#onNotice === null && notice.kin === undefined)) continue;
      const delivery = { notice, failures: 0, disarm: () => {} };
      this.#open.set(notice.notice_id, delivery);
      this.#due.push(delivery);
    }
    void this.#work();
  }

  stop(): void {
    this.#stopped = true;
    for (const { disarm } of this.#open.values()) disarm();
  }

  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    for (let next = this.#due.shift(); next !== undefined && !this.#stopped; next = this.#due.shift())
      await this.#hold.keep(this.#deliverOne(next));
    this.#working = false;
    this.#hold.restIfDone();
  }

  /** What the taker does wrong is tried again; what the journal says to it is the holder's to judge. */
  async #deliverOne(delivery: Delivery): Promise<void> {
    const { ports, mailbox } = this.#hold.way;
    const { notice_id } = delivery.notice;
    if (!(await this.#isTaken(delivery.notice))) return this.#tryLater(delivery);
    try {
      await mailbox.ask({ type: "deliver", now: ports.clock.now(), notice_id });
      this.#open.delete(notice_id);
    } catch (error) {
      if (!isStoreFault(error)) throw error;
      this.#tryLater(delivery);
    }
  }

  async #isTaken(notice: Notice): Promise<boolean> {
    const { ports, mailbox, kin } = this.#hold.way;
    let disarm = () => {};
    const late = new Promise<false>((resolve) => {
      disarm = ports.timers.after(ports.limits.noticeMs, () => resolve(false));
    });
    const take = async () => {
      if (notice.kin === undefined) await this.#onNotice?.({ ...notice, run_id: mailbox.run.id });
      else await kin.carry(mailbox.run, notice);
      return true;
    };
    try {
      if (isToolsWord(notice) && (await this.#isHalted())) return false;
      ports.failpoint("notice.before");
      const taken = await Promise.race([take(), late]);
      if (taken) ports.failpoint("notice.after");
      return taken;
    } catch {
      return false;
    } finally {
      disarm();
    }
  }

  /** What is halted says nothing to anyone, either. */
  async #isHalted(): Promise<boolean> {
    const { ports, mailbox } = this.#hold.way;
    const looking = ports.halts.reading(mailbox.run);
    if (looking !== null) await looking;
    return ports.halts.of(mailbox.run).halt !== null;
  }

  #tryLater(delivery: Delivery): void {
    if (this.#draining) this.#due.length = 0;
    if (this.#stopped || this.#draining) return;
    const pauseMs = Math.min(RETRY_MS.most, RETRY_MS.least * 2 ** delivery.failures);
    delivery.failures += 1;
    delivery.disarm = this.#hold.way.ports.timers.after(pauseMs, () => {
      this.#due.push(delivery);
      void this.#work();
    });
  }
}

const RETRY_MS = { least: 1000, most: 60_000 } as const;

/** No step has an exclamation mark in its id: with one, it is said of the run, not by a tool of it. */
function isToolsWord({ notice_id }: Notice): boolean {
  return !notice_id.includes("_!");
}

/** Those of one step in the order it gave them; their ids end in their number. */
function inOrder(notices: Iterable<readonly [string, Notice]>): readonly Notice[] {
  const numbered = Array.from(notices, ([id, notice]) => {
    const cut = id.lastIndexOf("_");
    return { of: id.slice(0, cut), number: Number(id.slice(cut + 1)), notice };
  });
  numbered.sort((left, right) => (left.of === right.of ? left.number - right.number : left.of < right.of ? -1 : 1));
  return numbered.map(({ notice }) => notice);
}
