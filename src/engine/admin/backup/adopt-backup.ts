import type { Principal } from "../../../core/approval/principal.ts";
import type { BackupRestore } from "../../../core/event/backup-restore.ts";
import { type BackupEvent, backupTime, type RestoreCounts } from "../../../core/settings/backup.ts";
import type { RunRow, ScheduleRow } from "../../../core/store/tables.ts";
import { FaultError, fault } from "../../../core/values/fault.ts";
import type { Instant, RunId, Tenant } from "../../../core/values/ids.ts";
import type { AdoptOptions, AdoptReport } from "../../api/backup-api.ts";
import { readPrincipal } from "../../api/read-principal.ts";
import { readReason } from "../../api/read-reason.ts";
import type { Schedules } from "../../api/schedule-api.ts";
import { appendEvent } from "../../journal/append-event.ts";
import { backupJournal, isScheduleJournal } from "../../journal/journal-names.ts";
import { loadRun } from "../../journal/load-run.ts";
import { RunMailbox } from "../../journal/run-mailbox.ts";
import { listRows } from "../../journal/store-listing.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";
import { readBackupEvents } from "./list-backups.ts";

/**
 * Begins a new incarnation of a store that is a restored backup: what happened after the backup is not on record. Parks
 * every run that had not ended, marks the others, and pauses every schedule, so that nothing is repeated.
 */
export async function adoptBackup(
  ports: WorkerPorts,
  schedules: Schedules,
  options: AdoptOptions,
): Promise<AdoptReport> {
  const principal = readPrincipal(options.principal);
  const reason = readReason(options);
  const { backupAt } = options;
  const { id: by, tenant } = principal;
  const now = () => ports.clock.now();
  const journal = await readBackupEvents(ports, tenant);
  const restoration: BackupRestore = {
    incarnation: ports.newId("inc", now()),
    backup_at: backupAt === undefined ? backupTime(journal) : readTime(backupAt),
  };
  const start: BackupEvent = { type: "restore.started", at: now(), by, reason, ...restoration };
  const started = await appendEvent(ports, tenant, backupJournal, start);
  const runs = await parkRuns(ports, principal, reason, restoration);
  const changed: RestoreCounts = { ...runs, schedules: await pauseSchedules(ports, schedules, principal) };
  await appendEvent(ports, tenant, backupJournal, { type: "restore.ended", at: now(), by, started, ...changed });
  return { ...restoration, ...changed };
}

function readTime(at: unknown): Instant {
  if (Number.isSafeInteger(at)) return at as Instant;
  throw new FaultError(fault("INVALID_INPUT", "backupAt must be a time in milliseconds since 1970"));
}

async function parkRuns(
  ports: WorkerPorts,
  principal: Principal,
  reason: string,
  restoration: BackupRestore,
): Promise<Omit<RestoreCounts, "schedules">> {
  const { store, clock } = ports;
  const { tenant } = principal;
  const counts = { parked: 0, ended: 0 };
  for await (const { row } of listRows(store, tenant, "run")) {
    const { run_id, ended_at } = JSON.parse(row) as RunRow;
    if (ended_at !== null && (await isErased(ports, tenant, run_id))) continue; // Such a run is never continued.
    const mailbox = new RunMailbox(ports, await loadRun(store, tenant, run_id), null);
    await mailbox.ask(() => ({ type: "park", now: clock.now(), principal, reason, restoration }));
    counts[ended_at === null ? "parked" : "ended"] += 1;
  }
  return counts;
}

async function isErased({ store }: WorkerPorts, tenant: Tenant, run: RunId): Promise<boolean> {
  const [first] = await store.events(tenant, run, 0, 1);
  return first?.body === null;
}

/** A schedule that is on would submit again the runs that it submitted after the backup. */
async function pauseSchedules(ports: WorkerPorts, schedules: Schedules, principal: Principal): Promise<number> {
  let paused = 0;
  for await (const { key, row } of listRows(ports.store, principal.tenant, "setting")) {
    if (!isScheduleJournal(key as RunId)) continue;
    const { schedule, status } = JSON.parse(row) as ScheduleRow;
    if (status !== "on") continue;
    await schedules.pause(schedule, { principal });
    paused += 1;
  }
  return paused;
}
