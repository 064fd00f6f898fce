import type { Principal } from "../../../core/approval/principal.ts";
import {
  foldRetentions,
  type RetentionCounts,
  type RetentionEvent,
  type RetentionRecord,
} from "../../../core/settings/retention.ts";
import type { Instant, Tenant } from "../../../core/values/ids.ts";
import type { Requested } from "../../../core/values/requested.ts";
import type { RetentionReport } from "../../api/retention-api.ts";
import { appendEvent } from "../../journal/append-event.ts";
import { GENESIS_HASH, JournalCodec } from "../../journal/journal-codec.ts";
import { retentionJournal } from "../../journal/journal-names.ts";
import { requestField } from "../../journal/requested-event.ts";
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
  { endedBefore, reason, ...requested }: RetentionTerms,
): Promise<RetentionReport> {
  return maintainAlone(ports, async () => {
    assertPast(ports, endedBefore);
    const now = () => ports.clock.now();
    const terms = { by, reason, ended_before: endedBefore, ...requestField(requested) };
    const start: RetentionEvent = { type: "retention.started", at: now(), ...terms };
    const started = await appendEvent(ports, tenant, retentionJournal, start);
    const earlier = requested.held_in === undefined ? null : await findEnd(ports, tenant, started);
    const counts = earlier ?? (await applyRetention(ports, tenant, endedBefore));
    const log = await logTruncation.truncate();
    const end = async () => {
      const event: RetentionEvent = { type: "retention.ended", at: now(), by, started, ...counts };
      await appendEvent(ports, tenant, retentionJournal, event);
    };
    if (earlier !== null) return { ...earlier, log };
    if (log === "pending") logTruncation.truncateLater(end);
    else await end();
    return { ...counts, log };
  });
}

interface RetentionTerms extends Requested {
  readonly endedBefore: Instant;
  readonly reason: string;
}

/** Returns what a retention erased that was executed before, by the position of its start. Null: it has not ended. */
async function findEnd(ports: WorkerPorts, tenant: Tenant, started: number): Promise<RetentionCounts | null> {
  for (const event of await readRetentionEvents(ports, tenant)) {
    if (event.type !== "retention.ended" || event.started !== started) continue;
    const { runs, events, waiting, snapshots } = event;
    return { runs, events, waiting, snapshots };
  }
  return null;
}

/** Returns the retentions of a tenant, newest first. */
export async function listRetentions(ports: WorkerPorts, tenant: Tenant): Promise<readonly RetentionRecord[]> {
  return foldRetentions(await readRetentionEvents(ports, tenant)).toReversed();
}

async function readRetentionEvents({ store }: WorkerPorts, tenant: Tenant): Promise<readonly RetentionEvent[]> {
  const journal = new JournalCodec(tenant, retentionJournal);
  const stored = await store.events(tenant, retentionJournal, 0);
  journal.assertIntact(stored, GENESIS_HASH, 0);
  return Promise.all(stored.map((event) => journal.open<RetentionEvent>(event, store)));
}
