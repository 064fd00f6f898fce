import type { Timers } from "../core/ports/clock.ts";
import { type MessageItem, type PersonMessage, personMessage } from "./person-message.ts";

/** Sends a message. Throws `RefusedMessage` if the message has certainly not arrived, and another error if it may have. */
export type SendMessage = (message: PersonMessage) => Promise<void>;

/** The message has not arrived, so it may be sent again soon. */
export class RefusedMessage extends Error {}

export interface QueueTerms {
  readonly now: () => number;
  readonly timers: Timers;
  readonly onProblem: (message: string) => void;
}

const MESSAGE_EVERY_MS = 60_000;
const RETRY_MIN_MS = 1000;
const ITEMS_PER_MESSAGE = 100;
const PENDING_MAX = 10_000;
const TOLD_MAX = 10_000;

/**
 * Sends the messages of one recipient, at most one per minute. All waiting items form one message. An item is delivered
 * when the recipient has accepted a message that contains it.
 */
export class RecipientQueue {
  readonly #send: SendMessage;
  readonly #terms: QueueTerms;
  readonly #pending = new Map<string, MessageItem>();
  readonly #told = new Set<string>();
  #opensAt = 0;
  #failures = 0;
  #sending: Promise<void> | null = null;
  #cancelTimer: (() => void) | null = null;

  constructor(send: SendMessage, terms: QueueTerms) {
    this.#send = send;
    this.#terms = terms;
  }

  /** Sends an item. Throws if the item has to wait; the caller then offers it again. */
  async offer(item: MessageItem): Promise<void> {
    if (this.#told.has(item.id)) return;
    if (this.#pending.size < PENDING_MAX) this.#pending.set(item.id, item);
    if (this.#sending !== null) await this.#sending;
    else if (this.#terms.now() >= this.#opensAt) await this.#sendPending();
    if (this.#told.has(item.id)) return;
    this.#armTimer();
    throw new Error("the recipient has not been told yet");
  }

  #armTimer(): void {
    if (this.#cancelTimer !== null || this.#pending.size === 0) return;
    const wait = Math.max(0, this.#opensAt - this.#terms.now());
    this.#cancelTimer = this.#terms.timers.after(wait, () => {
      this.#cancelTimer = null;
      if (this.#sending === null && this.#pending.size > 0) void this.#sendPending().then(() => this.#armTimer());
    });
  }

  #sendPending(): Promise<void> {
    this.#sending = this.#sendNow().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  async #sendNow(): Promise<void> {
    const items = [...this.#pending.values()].slice(0, ITEMS_PER_MESSAGE);
    const { now, onProblem } = this.#terms;
    this.#opensAt = now() + MESSAGE_EVERY_MS;
    try {
      await this.#send(personMessage(items));
    } catch (error) {
      onProblem(error instanceof Error ? error.message : String(error));
      const pause = Math.min(MESSAGE_EVERY_MS, RETRY_MIN_MS * 2 ** this.#failures);
      this.#failures += 1;
      if (error instanceof RefusedMessage) this.#opensAt = now() + pause;
      return;
    }
    this.#failures = 0;
    for (const { id } of items) {
      this.#pending.delete(id);
      this.#remember(id);
    }
  }

  #remember(id: string): void {
    const [oldest] = this.#told;
    if (this.#told.size >= TOLD_MAX && oldest !== undefined) this.#told.delete(oldest);
    this.#told.add(id);
  }
}
