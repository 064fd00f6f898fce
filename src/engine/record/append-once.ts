import { assert } from "../../core/assert.ts";
import { FaultError } from "../../core/fault.ts";
import type { Entry, Landing } from "../../core/store.ts";
import type { Ports } from "../ports.ts";

/** How long a lost answer is waited for before it is asked for again. */
const UNKNOWN_RETRY_MS = 100;

type Doors = Pick<Ports, "store" | "timers">;

/**
 * An answer that was lost is asked for again with the very same bytes: if they had landed, the store says so. Whoever cannot
 * find out, because the store is away by then, is not told that nothing was written.
 */
export async function appendOnce({ store, timers }: Doors, entry: Entry): Promise<Landing> {
  let lost: FaultError | null = null;
  for (;;) {
    try {
      const [landing] = await store.append([entry]);
      assert(landing !== undefined, "every entry gets an answer");
      return landing.landed || !(await isMine(store, landing, entry)) ? landing : { landed: true };
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      if (error.fault.code !== "STORE_UNKNOWN") throw lost ?? error;
      lost = error;
      await new Promise<void>((resolve) => timers.after(UNKNOWN_RETRY_MS, resolve));
    }
  }
}

/**
 * The acknowledgement was lost, but the append had landed: what is stored there is what was sent. All of it is looked at: an outcome
 * that is offered again can have others behind it that were not there the first time.
 */
async function isMine(store: Ports["store"], landing: Landing & { landed: false }, entry: Entry): Promise<boolean> {
  const { tenant, run, expect, events } = entry;
  const sent = events[0]?.hash;
  if (landing.why !== "position" || landing.hash === null || sent === undefined) return false;
  if (!isSame(landing.hash, sent)) return false;
  if (events.length === 1) return true;
  const stored = await store.events(tenant, run, expect.position, events.length);
  return events.every(({ hash }, index) => isSame(stored[index]?.hash, hash));
}

function isSame(stored: Uint8Array | undefined, sent: Uint8Array): boolean {
  return stored !== undefined && Buffer.from(stored).equals(sent);
}
