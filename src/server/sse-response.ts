import { httpLimits } from "./http-limits.ts";

/** One server-sent event. `data` is encoded as one line of JSON, so no value can end it. */
export interface ServerSentEvent {
  readonly event: string;
  readonly id?: string;
  readonly data: unknown;
}

/** Writes server-sent events to a client, no faster than it reads them. */
export class SseWriter {
  readonly response: Response;
  /** Aborts when the client has gone, or reads nothing for too long. */
  readonly signal: AbortSignal;
  readonly #ended = new AbortController();
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** The senders that wait for room. Several sources can share a stream. */
  #waiting: (() => void)[] = [];
  #timers: NodeJS.Timeout[] = [];

  constructor(client: AbortSignal) {
    this.signal = AbortSignal.any([client, this.#ended.signal]);
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#wakeAll(),
        cancel: () => this.#stop(),
      },
      { highWaterMark: 16 },
    );
    this.response = new Response(body, {
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      },
    });
    this.#write("retry: 500\n\n");
    this.every(httpLimits.streamPingMs, () => {
      if ((this.#controller?.desiredSize ?? 0) > 0) this.#write(": ping\n\n");
    });
    this.signal.addEventListener("abort", () => this.#stop(), { once: true });
  }

  /** Calls the function again and again until the stream ends. */
  every(ms: number, work: () => void): void {
    this.#timers.push(setInterval(work, ms).unref());
  }

  /** Sends an event, and resolves when there is room for the next one. */
  async send({ event, id, data }: ServerSentEvent): Promise<void> {
    if (this.signal.aborted) return;
    const lines = [`event: ${event}`, ...(id === undefined ? [] : [`id: ${id}`]), `data: ${JSON.stringify(data)}`];
    this.#write(`${lines.join("\n")}\n\n`);
    if ((this.#controller?.desiredSize ?? 1) > 0) return;
    const stalled = setTimeout(() => this.end(), httpLimits.streamStallMs).unref();
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
    clearTimeout(stalled);
  }

  end(): void {
    this.#stop();
  }

  #wakeAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  #write(text: string): void {
    try {
      this.#controller?.enqueue(this.#encoder.encode(text));
    } catch {
      // The client has gone.
    }
  }

  #stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    this.#ended.abort();
    this.#wakeAll();
    try {
      this.#controller?.close();
    } catch {
      // It was closed before.
    }
    this.#controller = null;
  }
}
