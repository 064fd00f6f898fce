import type { Timers } from "../../core/clock.ts";
import type { Client } from "./driver.ts";

/** Hints that come closer together than this are one. */
const everyMs = 50;
const reconnectMs = 5_000;

const channel = "writ";

export interface Watching {
  watch(hint: () => void): () => void;
  stop(): Promise<void>;
}

/**
 * Listens for what other processes say they wrote. A hint is never the place to fail: where nobody can listen, as behind a
 * transaction pooler, the sweep finds everything a little later.
 */
export function watching(open: () => Client, timers: Timers, self: string): Watching {
  const hints = new Set<() => void>();
  let listener: Client | null = null;
  let cancel = () => {};
  let isSet = false;

  const tell = (): void => {
    if (isSet) return;
    isSet = true;
    const stop = timers.after(everyMs, () => {
      isSet = false;
      for (const hint of hints) hint();
    });
    cancelTell = () => {
      stop();
      isSet = false;
    };
  };
  let cancelTell = () => {};

  const listen = async (): Promise<void> => {
    const client = open();
    listener = client;
    const isOver = () => listener !== client;
    const again = (): void => {
      if (isOver()) return;
      listener = null;
      cancel = timers.after(reconnectMs, () => void listen());
    };
    client.on("error", again);
    client.on("end", again);
    client.on("notification", ({ payload }) => {
      if (payload !== self) tell();
    });
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
      tell(); // Whatever was said before we listened.
    } catch {
      again();
    }
    if (isOver()) await client.end().catch(() => {});
  };

  const stop = async (): Promise<void> => {
    cancel();
    cancelTell();
    const client = listener;
    listener = null;
    await client?.end().catch(() => {});
  };

  return {
    watch: (hint) => {
      if (hints.size === 0) void listen();
      hints.add(hint);
      return () => {
        if (hints.delete(hint) && hints.size === 0) void stop();
      };
    },
    stop,
  };
}
