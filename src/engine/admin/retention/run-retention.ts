import type { Principal } from "../../../core/approval/principal.ts";
import { foldRetentions, type RetentionEvent, type RetentionRecord } from "../../../core/settings/retention.ts";
import type { Instant, Tenant } from "../../../core/values/ids.ts";
import type { RetentionReport } from "../../api/retention-api.ts";
import { appendEvent } from "../../journal/append-event.ts";
import { GENESIS_HASH, JournalCodec } from "../../journal/journal-codec.ts";
import { retentionJournal } from "../../journal/journal-names.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";
import { maintainAlone } from "../maintain-alone.ts";
import { applyRetention, assertPast } from "./apply-retention.ts";
import type { LogTruncation } from "./log-truncation.ts";

/**
 * Erases the bodies of ended runs. Records who erases and why before, and what was erased after, when nothing of it is
 * left in the log: a retention has ended only then.
 */
export function runRetention(
  ports: WorkerPorts,
  logTruncation: LogTruncation,
  { id: by, tenant }: Principal,
  { endedBefore, reason }: { readonly endedBefore: Instant; readonly reason: string },
): Promise<RetentionReport> {
  return maintainAlone(ports, async () => {
    assertPast(ports, endedBefore);
    const now = () => ports.clock.now();
    const start: RetentionEvent = { type: "retention.started", at: now(), by, reason, ended_before: endedBefore };
    const started = await appendEvent(ports, tenant, retentionJournal, start);
    const counts = await applyRetention(ports, tenant, endedBefore);
    const log = await logTruncation.truncate();
    const end = async () => {
      const event: RetentionEvent = { type: "retention.ended", at: now(), by, started, ...counts };
      await appendEvent(ports, tenant, retentionJournal, event);
    };
    if (log === "pending") logTruncation.truncateLater(end);
    else await end();
    return { ...counts, log };
  });
}

/** Returns the retentions of a tenant, newest first. */
export async function listRetentions({ store }: WorkerPorts, tenant: Tenant): Promise<readonly RetentionRecord[]> {
  const journal = new JournalCodec(tenant, retentionJournal);
  const stored = await store.events(tenant, retentionJournal, 0);
  journal.assertIntact(stored, GENESIS_HASH, 0);
  const events = await Promise.all(stored.map((event) => journal.open<RetentionEvent>(event, store)));
  return foldRetentions(events).toReversed();
}
