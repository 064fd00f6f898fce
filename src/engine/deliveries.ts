import type { Notice } from "../core/event.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Ports } from "./ports.ts";

/** Carries out the notices of a run after they were committed: at least once each, under the id they were committed with. */
export class Deliveries {
  readonly #ports: Ports;
  readonly #mailbox: Mailbox;
  readonly #idle: () => void;
  #running = false;
  #stopped = false;
  #failures = 0;
  #disarm: () => void = () => {};

  constructor(ports: Ports, mailbox: Mailbox, idle: () => void) {
    this.#ports = ports;
    this.#mailbox = mailbox;
    this.#idle = idle;
  }

  /** While true, the run is not let go. */
  get busy(): boolean {
    return this.#running;
  }

  deliver(): void {
    if (this.#running || this.#stopped || this.#ports.onNotice === null || this.#mailbox.run.notices.size === 0) return;
    this.#running = true;
    void this.#drain(this.#ports.onNotice);
  }

  stop(): void {
    this.#stopped = true;
    this.#disarm();
  }

  async #drain(onNotice: NonNullable<Ports["onNotice"]>): Promise<void> {
    for (const notice of inOrder(this.#mailbox.run.notices)) {
      if (this.#stopped || !(await this.#deliverOne(notice, onNotice))) break;
    }
    this.#running = false;
    const left = this.#mailbox.run.notices.size > 0 && !this.#stopped;
    if (!left) return this.#idle();
    this.#running = true;
    this.#disarm = this.#ports.timers.after(Math.min(60_000, 1000 * 2 ** Math.min(this.#failures, 6)), () => {
      this.#running = false;
      this.deliver();
    });
  }

  /** One that fails stays, and is tried again. */
  async #deliverOne(notice: Notice, onNotice: NonNullable<Ports["onNotice"]>): Promise<boolean> {
    try {
      this.#ports.failpoint("notice.before");
      await onNotice({ ...notice, run_id: this.#mailbox.run.id });
      this.#ports.failpoint("notice.after");
      await this.#mailbox.ask({ type: "deliver", now: this.#ports.clock.now(), notice_id: notice.notice_id });
      this.#failures = 0;
      return true;
    } catch {
      this.#failures += 1;
      return false;
    }
  }
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
