import type { AppendResult, Entry } from "../../core/store/store.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import { assert } from "../../core/values/assert.ts";
import { FaultError } from "../../core/values/fault.ts";
import type { JournalPorts } from "./journal-ports.ts";

type AppendPorts = Pick<JournalPorts, "store" | "timers">;

/**
 * Appends an entry exactly once. If the answer of the store is lost, the same bytes are sent again: if they had landed, the store
 * refuses the position, and the stored hash is that of the entry. Without an answer, the fault is STORE_UNKNOWN.
 */
export function appendOnce(ports: AppendPorts, entry: Entry): Promise<AppendResult> {
  const onError = (error: unknown) => {
    if (isAnswerLost(error)) return appendAgain(ports, entry, error);
    throw error;
  };
  return ports.store.append([entry]).then(([landing]) => {
    assert(landing !== undefined, "every entry gets an answer");
    return landing.landed ? landing : recognizeOwn(ports.store, landing, entry).catch(onError);
  }, onError);
}

/** Sends the entry until the store answers whether it has landed. */
async function appendAgain({ store, timers }: AppendPorts, entry: Entry, lost: FaultError): Promise<AppendResult> {
  for (;;) {
    await new Promise<void>((resolve) => timers.after(waitTimes.appendResendMs, resolve));
    try {
      const [landing] = await store.append([entry]);
      assert(landing !== undefined, "every entry gets an answer");
      return landing.landed ? landing : await recognizeOwn(store, landing, entry);
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      if (!isAnswerLost(error)) throw lost;
    }
  }
}

function isAnswerLost(error: unknown): error is FaultError {
  return error instanceof FaultError && error.fault.code === "STORE_UNKNOWN";
}

async function recognizeOwn(
  store: JournalPorts["store"],
  landing: AppendResult & { landed: false },
  entry: Entry,
): Promise<AppendResult> {
  return (await isOwnAppend(store, landing, entry)) ? { landed: true } : landing;
}

/**
 * Returns whether the refused append had landed before. All events are compared: a repeated outcome can be followed by events
 * that were not in the first append.
 */
async function isOwnAppend(
  store: JournalPorts["store"],
  landing: AppendResult & { landed: false },
  entry: Entry,
): Promise<boolean> {
  const { tenant, run, expect, events } = entry;
  const sent = events[0]?.hash;
  if (landing.why !== "position" || landing.hash === null || sent === undefined) return false;
  if (!isSameHash(landing.hash, sent)) return false;
  if (events.length === 1) return true;
  const stored = await store.events(tenant, run, expect.position, events.length);
  return events.every(({ hash }, index) => isSameHash(stored[index]?.hash, hash));
}

function isSameHash(stored: Uint8Array | undefined, sent: Uint8Array): boolean {
  return stored !== undefined && Buffer.from(stored).equals(sent);
}
