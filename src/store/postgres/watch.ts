import type { Entry } from "../../core/store.ts";
import type { Timers } from "../../core/time/clock.ts";
import type { Calls } from "./calls.ts";
import type { Client } from "./driver.ts";

/** The first hint is passed on at once, and those that come within this time after it as one; so is the first word to the others. */
const everyMs = 200;
const tellMs = 100;
const reconnectMs = 5_000;

export interface Watching {
  watch(hint: () => void): () => void;
  /** Tells the others, if they would want to know. */
  tell(landed: Entry): void;
  stop(): Promise<void>;
}

/**
 * What one process writes, the others hear of. A hint is never the place to fail: where nobody can listen, as behind a
 * transaction pooler, the sweep finds everything a little later.
 */
export function watching(open: () => Client, calls: Calls, timers: Timers, self: string): Watching {
  const hints = new Set<() => void>();
  const { pass, stop: quiet } = throttled(timers, everyMs, () => {
    for (const hint of [...hints]) hint();
  });
  const { tell, stop: finish } = telling(calls, timers, self);
  const { listen, stop: deafen } = listening(open, timers, (sender) => {
    if (sender !== self) pass();
  });
  const unwatch = async (): Promise<void> => {
    quiet();
    await deafen();
  };
  return {
    watch: (hint) => {
      if (hints.size === 0) listen();
      hints.add(hint);
      return () => {
        if (hints.delete(hint) && hints.size === 0) void unwatch();
      };
    },
    tell,
    stop: async () => void (await Promise.all([unwatch(), finish()])),
  };
}

/** A hint costs a transaction here and wakes every process there, so that what is written in a hurry is told together. */
function telling(calls: Calls, timers: Timers, self: string): { tell(landed: Entry): void; stop(): Promise<void> } {
  let last: Promise<unknown> = Promise.resolve();
  const say = (): void => {
    last = calls({ name: "tell", values: [self] }).catch(() => []);
  };
  const { pass, stop } = throttled(timers, tellMs, say);
  return {
    tell: (entry) => {
      if (isNews(entry)) pass();
    },
    stop: async () => {
      if (stop()) say();
      await last;
    },
  };
}

/** A command from outside, for whoever holds the run; or what lists show of a run, for whoever waits for it. */
function isNews({ expect, puts }: Entry): boolean {
  return expect.epoch === null || puts.some(({ table }) => table === "run");
}

/** `stop` answers whether there was something left to do. */
function throttled(timers: Timers, ms: number, work: () => void): { pass(): void; stop(): boolean } {
  let cancel: (() => void) | null = null;
  let isWanted = false;
  const pass = (): void => {
    isWanted = cancel !== null;
    if (cancel !== null) return;
    cancel = timers.after(ms, () => {
      cancel = null;
      if (isWanted) pass();
    });
    work();
  };
  return {
    pass,
    stop: () => {
      const isLeft = cancel !== null && isWanted;
      cancel?.();
      cancel = null;
      return isLeft;
    },
  };
}

function listening(
  open: () => Client,
  timers: Timers,
  heard: (sender: string) => void,
): { listen(): void; stop(): Promise<void> } {
  let listener: Client | null = null;
  let cancel = () => {};
  const listen = (): void => {
    const client = open();
    listener = client;
    const again = (): void => {
      if (listener !== client) return;
      listener = null;
      cancel = timers.after(reconnectMs, listen);
    };
    client.on("error", again);
    client.on("end", again);
    client.on("notification", ({ payload = "" }) => heard(payload));
    void attend(client, again);
  };
  const attend = async (client: Client, again: () => void): Promise<void> => {
    try {
      await client.connect();
      client.unref();
      await client.query("listen writ");
      heard(""); // Whatever was said before.
    } catch {
      again();
    }
    if (listener !== client) await client.end().catch(() => {});
  };
  return {
    listen,
    stop: async () => {
      cancel();
      const client = listener;
      listener = null;
      await client?.end().catch(() => {});
    },
  };
}
