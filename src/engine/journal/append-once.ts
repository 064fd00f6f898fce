import type { AppendResult, Entry } from "../../core/store/store.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import { assert } from "../../core/values/assert.ts";
import { FaultError } from "../../core/values/fault.ts";
import type { JournalPorts } from "./journal-ports.ts";

type AppendPorts = Pick<JournalPorts, "store" | "timers">;

/**
 * Appends an entry exactly once. If the answer of the store is lost, the same bytes are sent again: if they had landed, the store
 * refuses the position and the stored hash is ours. If the store stays away, the caller gets STORE_UNKNOWN, not a plain failure.
 */
export async function appendOnce({ store, timers }: AppendPorts, entry: Entry): Promise<AppendResult> {
  let lost: FaultError | null = null;
  for (;;) {
    try {
      const [landing] = await store.append([entry]);
      assert(landing !== undefined, "every entry gets an answer");
      return landing.landed || !(await isOwnAppend(store, landing, entry)) ? landing : { landed: true };
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      if (error.fault.code !== "STORE_UNKNOWN") throw lost ?? error;
      lost = error;
      await new Promise<void>((resolve) => timers.after(waitTimes.appendResendMs, resolve));
    }
  }
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
