import type { Check, Entry } from "../../core/store/store.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { appendOnce } from "./append-once.ts";
import { findRequestExecution } from "./find-request-execution.ts";
import { GENESIS_HASH, JournalCodec, type JournalEvent } from "./journal-codec.ts";
import type { JournalPorts } from "./journal-ports.ts";
import { isLanded } from "./judged-request.ts";

/**
 * Appends an event to a journal without rows, synced to disk, and returns its position. Tries the next position if
 * another append came first. An event of a held request is appended once.
 */
export async function appendEvent(
  ports: Pick<JournalPorts, "store" | "timers">,
  tenant: Tenant,
  run: RunId,
  event: JournalEvent,
  checks: readonly Check[] = [],
): Promise<number> {
  for (;;) {
    const { position, hash } = (await ports.store.head(tenant, run)) ?? { position: 0, hash: GENESIS_HASH };
    const earlier = "held_in" in event ? await findRequestExecution(ports.store, tenant, run, event) : null;
    if (earlier !== null) return earlier.position;
    const entry: Entry = {
      tenant,
      run,
      expect: { position, epoch: null },
      events: [new JournalCodec(tenant, run).seal(event, position + 1, hash).event],
      puts: [],
      charges: [],
      checks,
      flush: "hard",
    };
    if (isLanded(await appendOnce(ports, entry))) return position + 1;
  }
}
