import type { Timers } from "../../core/ports/clock.ts";
import type { Entry } from "../../core/store/store.ts";
import type { FunctionCaller } from "./function-caller.ts";
import type { Client } from "./pg-driver.ts";

/**
 * The first hint, and the first notification, is passed on at once. Later ones within the interval are combined into
 * one.
 */
const hintIntervalMs = 200;
const notifyIntervalMs = 100;
const reconnectMs = 5_000;

export interface ChangeNotifications {
  watch(hint: () => void): () => void;
  /** Notifies the other processes if the entry concerns them. */
  notify(landed: Entry): void;
  stop(): Promise<void>;
}

/**
 * Notifies processes of each other's writes. A failure here is ignored: where `listen` does not work, as behind a
 * transaction pooler, polling finds every change a little later.
 */
export function createChangeNotifications(
  open: () => Client,
  calls: FunctionCaller,
  timers: Timers,
  self: string,
): ChangeNotifications {
  const hints = new Set<() => void>();
  const hinter = throttle(timers, hintIntervalMs, () => {
    for (const hint of [...hints]) hint();
  });
  const notifier = createNotifier(calls, timers, self);
  const listener = createListener(open, timers, (sender) => {
    if (sender !== self) hinter.request();
  });
  const unwatch = async (): Promise<void> => {
    hinter.stop();
    await listener.stop();
  };
  return {
    watch: (hint) => {
      if (hints.size === 0) listener.listen();
      hints.add(hint);
      return () => {
        if (hints.delete(hint) && hints.size === 0) void unwatch();
      };
    },
    notify: notifier.notify,
    stop: async () => void (await Promise.all([unwatch(), notifier.stop()])),
  };
}

/** A notification costs a transaction here and wakes every other process, so notifications are throttled. */
function createNotifier(calls: FunctionCaller, timers: Timers, self: string): Omit<ChangeNotifications, "watch"> {
  let last: Promise<unknown> = Promise.resolve();
  const send = (): void => {
    last = calls({ name: "tell", values: [self] }).catch(() => []);
  };
  const { request, stop } = throttle(timers, notifyIntervalMs, send);
  return {
    notify: (entry) => {
      if (isNotable(entry)) request();
    },
    stop: async () => {
      if (stop()) send();
      await last;
    },
  };
}

/**
 * True for a command from outside, which the worker of the run must see, and for a change of a run row, which clients
 * await.
 */
function isNotable({ expect, puts }: Entry): boolean {
  return expect.epoch === null || puts.some(({ table }) => table === "run");
}

/** Runs `work` at most once per interval. `stop` returns true if a request was still waiting. */
function throttle(timers: Timers, ms: number, work: () => void): { request(): void; stop(): boolean } {
  let cancel: (() => void) | null = null;
  let isPending = false;
  const request = (): void => {
    isPending = cancel !== null;
    if (cancel !== null) return;
    cancel = timers.after(ms, () => {
      cancel = null;
      if (isPending) request();
    });
    work();
  };
  return {
    request,
    stop: () => {
      const wasPending = cancel !== null && isPending;
      cancel?.();
      cancel = null;
      return wasPending;
    },
  };
}

function createListener(
  open: () => Client,
  timers: Timers,
  onNotification: (sender: string) => void,
): { listen(): void; stop(): Promise<void> } {
  let current: Client | null = null;
  let cancel = () => {};
  const listen = (): void => {
    const client = open();
    current = client;
    const reconnectLater = (): void => {
      if (current !== client) return;
      current = null;
      cancel = timers.after(reconnectMs, listen);
    };
    client.on("error", reconnectLater);
    client.on("end", reconnectLater);
    client.on("notification", ({ payload = "" }) => onNotification(payload));
    void startListening(client, reconnectLater);
  };
  const startListening = async (client: Client, reconnectLater: () => void): Promise<void> => {
    try {
      await client.connect();
      client.unref();
      await client.query("listen writ");
      onNotification(""); // Notifications sent before the connection listened were missed.
    } catch {
      reconnectLater();
    }
    if (current !== client) await client.end().catch(() => {});
  };
  return {
    listen,
    stop: async () => {
      cancel();
      const client = current;
      current = null;
      await client?.end().catch(() => {});
    },
  };
}
