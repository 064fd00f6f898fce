import type { BackupContents, BackupEvent } from "../../../core/settings/backup.ts";
import type { Store, StoreCopies, StoreCopy } from "../../../core/store/store.ts";
import { FaultError, fault } from "../../../core/values/fault.ts";
import type { HeldIn } from "../../../core/values/held-in.ts";
import type { Tenant } from "../../../core/values/ids.ts";
import type { BackupReport } from "../../api/backup-api.ts";
import { readPrincipal } from "../../api/read-principal.ts";
import { readReason } from "../../api/read-reason.ts";
import type { ReasonOptions } from "../../api/request-options.ts";
import { appendEvent } from "../../journal/append-event.ts";
import { findRequestExecution, requestField } from "../../journal/find-request-execution.ts";
import { backupJournal } from "../../journal/journal-names.ts";
import type { JudgedRequest } from "../../journal/judged-request.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";
import { auditFindings } from "../audit/audit-findings.ts";
import { auditTenant } from "../audit/audit-journals.ts";
import { maintainAlone } from "../maintain-alone.ts";
import { readBackupEvents } from "./list-backups.ts";

/**
 * Copies the store to a new file and audits the copy before it gets its name. Records who makes the backup before, so
 * that the copy contains its own date, and its content after.
 */
export function makeBackup(
  ports: WorkerPorts,
  file: string,
  options: ReasonOptions & JudgedRequest,
): Promise<BackupReport> {
  return maintainAlone(ports, () => copyAndAudit(ports, file, options));
}

async function copyAndAudit(
  ports: WorkerPorts,
  file: string,
  options: ReasonOptions & JudgedRequest,
): Promise<BackupReport> {
  const { id: by, tenant } = readPrincipal(options.principal);
  const reason = readReason(options);
  const { clock } = ports;
  const earlier = await findEarlier(ports, tenant, readFile(file), options);
  if (earlier?.recorded) return earlier.report;
  const at = earlier?.report.at ?? clock.now();
  const copy = earlier === null ? copiesOf(ports.store).begin(file) : null;
  const start: BackupEvent = { type: "backup.started", at, by, reason, file, ...requestField(options) };
  const started = await appendEvent(ports, tenant, backupJournal, start, options.checks);
  const report = earlier?.report ?? { file, at, ...(await writeCopy(copy as StoreCopy)) };
  const { tenants, journals, events, bytes } = report;
  const end: BackupEvent = { type: "backup.ended", at: clock.now(), by, started, tenants, journals, events, bytes };
  await appendEvent(ports, tenant, backupJournal, end);
  return report;
}

async function writeCopy(copy: StoreCopy): Promise<BackupContents> {
  try {
    const counts = await countAudited(await copy.write());
    return { ...counts, bytes: await copy.publish() };
  } catch (error) {
    await copy.discard();
    throw error;
  }
}

/** A backup that the same held request has made before. `recorded`: its end is on record, too. */
interface EarlierBackup {
  readonly report: BackupReport;
  readonly recorded: boolean;
}

/** Finds the backup of a held request. A crash may have cut it off after its file got its name, which it gets last. */
async function findEarlier(
  ports: WorkerPorts,
  tenant: Tenant,
  file: string,
  requested: HeldIn,
): Promise<EarlierBackup | null> {
  const started = await findRequestExecution<BackupStart>(ports.store, tenant, backupJournal, requested);
  if (started === null) return null;
  const { at } = started.event;
  const journal = await readBackupEvents(ports, tenant);
  const end = journal.find((event) => event.type === "backup.ended" && event.started === started.position);
  if (end?.type === "backup.ended") {
    const { tenants, journals, events, bytes } = end;
    return { report: { file, at, tenants, journals, events, bytes }, recorded: true };
  }
  const found = copiesOf(ports.store).open(file);
  if (found === null) return null;
  try {
    // The copy holds the record of its own start. Another file is not overwritten.
    if ((await findRequestExecution(found.store, tenant, backupJournal, requested)) === null) return null;
    return { report: { file, at, ...(await countAudited(found.store)), bytes: found.bytes }, recorded: false };
  } finally {
    await found.store.close();
  }
}

type BackupStart = Extract<BackupEvent, { type: "backup.started" }>;

function copiesOf({ copies }: Store): StoreCopies {
  if (copies !== undefined) return copies;
  const message = "this store is not a file; use the tools of its database, such as pg_dump (docs/postgres.md)";
  throw new FaultError(fault("NOT_POSSIBLE", message));
}

function readFile(file: unknown): string {
  if (typeof file === "string" && file !== "" && !file.includes("\0")) return file;
  throw new FaultError(fault("INVALID_INPUT", "the file of a backup is a path"));
}

/** Audits every journal of every tenant. Throws CHAIN_BROKEN if one was changed: such a copy is no backup. */
async function countAudited(store: Store): Promise<Omit<BackupContents, "bytes">> {
  const tenants = await copiesOf(store).tenants();
  const counts = { tenants: tenants.length, journals: 0, events: 0 };
  for (const tenant of tenants) {
    const audit = await auditTenant(store, tenant);
    const { runs, events } = audit;
    const [first] = auditFindings(audit);
    if (first !== undefined) {
      const message = `there is no backup: the record was changed (${first}); run: writ audit`;
      throw new FaultError(fault("CHAIN_BROKEN", message));
    }
    counts.journals += runs;
    counts.events += events;
  }
  return counts;
}
