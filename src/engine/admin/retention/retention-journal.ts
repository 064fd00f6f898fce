import { type RetentionEvent, retentionPut } from "../../../core/settings/retention-events.ts";
import type { Check, Entry } from "../../../core/store/store.ts";
import type { Tenant } from "../../../core/values/ids.ts";
import { appendOnce } from "../../journal/append-once.ts";
import { GENESIS_HASH, JournalCodec } from "../../journal/journal-codec.ts";
import { retentionJournal } from "../../journal/journal-names.ts";
import { isLanded } from "../../journal/judged-request.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";

/** Reads the retentions of a tenant, oldest first. */
export async function readRetentionEvents({ store }: WorkerPorts, tenant: Tenant): Promise<readonly RetentionEvent[]> {
  const journal = new JournalCodec(tenant, retentionJournal);
  const stored = await store.events(tenant, retentionJournal, 0);
  journal.assertIntact(stored, GENESIS_HASH, 0);
  return Promise.all(stored.map((event) => journal.open<RetentionEvent>(event, store)));
}

/**
 * Appends an event of a retention with the timer that continues it, and returns the position of the event. A held
 * request starts one retention, and a retention ends once: the earlier event stays.
 */
export async function appendRetentionEvent(
  ports: WorkerPorts,
  tenant: Tenant,
  event: RetentionEvent,
  checks: readonly Check[] = [],
): Promise<number> {
  const run = retentionJournal;
  for (;;) {
    const head = (await ports.store.head(tenant, run)) ?? { position: 0, hash: GENESIS_HASH };
    const events = (await readRetentionEvents(ports, tenant)).slice(0, head.position);
    const earlier = events.findIndex((other) => isSameFact(other, event));
    if (earlier >= 0) return earlier + 1;
    const { position, hash } = head;
    const entry: Entry = {
      tenant,
      run,
      expect: { position, epoch: null },
      events: [new JournalCodec(tenant, run).seal(event, position + 1, hash).event],
      puts: [retentionPut(run, [...events, event])],
      charges: [],
      checks,
      flush: "hard",
    };
    if (isLanded(await appendOnce(ports, entry))) return position + 1;
  }
}

function isSameFact(earlier: RetentionEvent, event: RetentionEvent): boolean {
  if (event.type === "retention.started") return event.held_in !== undefined && earlier.held_in === event.held_in;
  return earlier.type === event.type && earlier.started === event.started;
}
