import type { Principal } from "../../../core/approval/principal.ts";
import { foldRetentions, type RetentionEvent, type RetentionRecord } from "../../../core/settings/retention.ts";
import type { Instant, Tenant } from "../../../core/values/ids.ts";
import type { RetentionReport } from "../../api/retention-api.ts";
import { appendEvent } from "../../journal/append-event.ts";
import { GENESIS_HASH, JournalCodec } from "../../journal/journal-codec.ts";
import { retentionJournal } from "../../journal/journal-names.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";
import { applyRetention, assertPast } from "./apply-retention.ts";

/** Erases the bodies of ended runs. Records who erases and why before, and what was erased after. */
export async function runRetention(
  ports: WorkerPorts,
  { id: by, tenant }: Principal,
  endedBefore: Instant,
  reason: string,
): Promise<RetentionReport> {
  assertPast(ports, endedBefore);
  const now = () => ports.clock.now();
  const start: RetentionEvent = { type: "retention.started", at: now(), by, reason, ended_before: endedBefore };
  const started = await appendEvent(ports, tenant, retentionJournal, start);
  const erased = await applyRetention(ports, tenant, endedBefore);
  const { runs, events, waiting, snapshots } = erased;
  const counts = { runs, events, waiting, snapshots };
  const end: RetentionEvent = { type: "retention.ended", at: now(), by, started, ...counts };
  await appendEvent(ports, tenant, retentionJournal, end);
  return erased;
}

/** Returns the retentions of a tenant, newest first. */
export async function listRetentions({ store }: WorkerPorts, tenant: Tenant): Promise<readonly RetentionRecord[]> {
  const journal = new JournalCodec(tenant, retentionJournal);
  const stored = await store.events(tenant, retentionJournal, 0);
  journal.assertIntact(stored, GENESIS_HASH, 0);
  const events = await Promise.all(stored.map((event) => journal.open<RetentionEvent>(event, store)));
  return foldRetentions(events).toReversed();
}
