import type { Principal } from "../../../core/approval/principal.ts";
import {
  foldRetentions,
  type PendingRetention,
  pendingRetentions,
  type RetentionCounts,
  type RetentionEvent,
  type RetentionRecord,
  retentionCounts,
} from "../../../core/settings/retention-events.ts";
import type { SessionToForget } from "../../../core/settings/session-to-forget.ts";
import { waitTimes } from "../../../core/time/wait-times.ts";
import type { Instant, Tenant } from "../../../core/values/ids.ts";
import type { RetentionReport } from "../../api/retention-report.ts";
import { requestField } from "../../journal/find-request-execution.ts";
import type { JudgedRequest } from "../../journal/judged-request.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";
import { maintainAlone } from "../maintain-alone.ts";
import { applyRetention, assertPast } from "./apply-retention.ts";
import type { DatabaseLogTruncation } from "./database-log-truncation.ts";
import { forgetSession } from "./forget-session.ts";
import { appendRetentionEvent, readRetentionEvents } from "./retention-journal.ts";

/**
 * Erases the bodies of ended runs, or of the runs of one session. Records who erases and why before, and what was erased after, when nothing of it is
 * left in the log: a retention has ended only then. If its process ends before, a worker continues it.
 */
export function runRetention(
  ports: WorkerPorts,
  logTruncation: DatabaseLogTruncation,
  { id: by, tenant }: Principal,
  { endedBefore, reason, session, ...requested }: RetentionTerms,
): Promise<RetentionReport> {
  return maintainAlone(ports, async () => {
    assertPast(ports, endedBefore);
    const at = ports.clock.now();
    const continue_at = (at + waitTimes.retentionContinueMs) as Instant;
    const scope = session === undefined ? {} : { session };
    const terms = { by, reason, ended_before: endedBefore, ...scope, continue_at, ...requestField(requested) };
    const start: RetentionEvent = { type: "retention.started", at, ...terms };
    const started = await appendRetentionEvent(ports, tenant, start, requested.checks);
    const ended = await findEnd(ports, tenant, started);
    if (ended !== null) return { ...ended, log: await logTruncation.truncate() };
    const pending = pendingRetentions(await readRetentionEvents(ports, tenant)).find((one) => one.started === started);
    const counts = pending?.counts ?? (await erase(ports, tenant, { by, ended_before: endedBefore, ...scope }));
    return { ...counts, log: await endRetention(ports, logTruncation, tenant, { started, by, counts, ...scope }) };
  });
}

function erase(
  ports: WorkerPorts,
  tenant: Tenant,
  { by, ended_before, session }: Pick<PendingRetention, "by" | "ended_before" | "session">,
): Promise<RetentionCounts> {
  if (session === undefined) return applyRetention(ports, tenant, ended_before);
  return forgetSession(ports, tenant, session, by);
}

interface RetentionTerms extends JudgedRequest {
  readonly endedBefore: Instant;
  readonly reason: string;
  /** Present: only the runs of this session. */
  readonly session?: SessionToForget;
}

/** Continues a retention that has not ended: its process died, or closed while another one read the log. */
export function continueRetention(
  ports: WorkerPorts,
  logTruncation: DatabaseLogTruncation,
  tenant: Tenant,
  pending: PendingRetention,
): Promise<RetentionReport["log"]> {
  return maintainAlone(ports, async () => {
    const counts = pending.counts ?? (await erase(ports, tenant, pending));
    return endRetention(ports, logTruncation, tenant, { ...pending, counts });
  });
}

interface ErasedRetention extends Pick<PendingRetention, "started" | "by" | "session"> {
  readonly counts: RetentionCounts;
}

/** Empties the log and records the end; later if a process still reads the log, or acts of a session have not ended. */
async function endRetention(
  ports: WorkerPorts,
  logTruncation: DatabaseLogTruncation,
  tenant: Tenant,
  { started, by, counts, session }: ErasedRetention,
): Promise<RetentionReport["log"]> {
  const log = await logTruncation.truncate();
  if (session !== undefined && counts.waiting > 0) return "pending"; // A worker erases the rest when it has ended.
  const record = async (type: "retention.erased" | "retention.ended") => {
    await appendRetentionEvent(ports, tenant, { type, at: ports.clock.now(), by, started, ...counts });
  };
  if (log !== "pending") await record("retention.ended");
  else {
    await record("retention.erased");
    logTruncation.truncateLater(() => record("retention.ended"));
  }
  return log;
}

/** Returns what a retention erased that was executed before, by the position of its start. Null: it has not ended. */
async function findEnd(ports: WorkerPorts, tenant: Tenant, started: number): Promise<RetentionCounts | null> {
  for (const event of await readRetentionEvents(ports, tenant))
    if (event.type === "retention.ended" && event.started === started) return retentionCounts(event);
  return null;
}

/** Returns the retentions of a tenant, newest first. */
export async function listRetentions(ports: WorkerPorts, tenant: Tenant): Promise<readonly RetentionRecord[]> {
  return foldRetentions(await readRetentionEvents(ports, tenant)).toReversed();
}
