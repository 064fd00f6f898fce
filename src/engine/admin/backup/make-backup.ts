import type { BackupContents, BackupEvent } from "../../../core/settings/backup.ts";
import type { Store, StoreCopies } from "../../../core/store/store.ts";
import { FaultError, fault } from "../../../core/values/fault.ts";
import type { BackupReport } from "../../api/backup-api.ts";
import { readPrincipal } from "../../api/read-principal.ts";
import { readReason } from "../../api/read-reason.ts";
import type { ReasonOptions } from "../../api/request-options.ts";
import { appendEvent } from "../../journal/append-event.ts";
import { backupJournal } from "../../journal/journal-names.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";
import { auditFindings } from "../audit/audit-findings.ts";
import { auditTenant } from "../audit/audit-journals.ts";
import { maintainAlone } from "../maintain-alone.ts";

/**
 * Copies the store to a new file and audits the copy before it gets its name. Records who makes the backup before, so
 * that the copy contains its own date, and its content after.
 */
export function makeBackup(ports: WorkerPorts, file: string, options: ReasonOptions): Promise<BackupReport> {
  return maintainAlone(ports, () => copyAndAudit(ports, file, options));
}

async function copyAndAudit(ports: WorkerPorts, file: string, options: ReasonOptions): Promise<BackupReport> {
  const { id: by, tenant } = readPrincipal(options.principal);
  const reason = readReason(options);
  const { store, clock } = ports;
  const copy = copiesOf(store).begin(readFile(file));
  const at = clock.now();
  const start: BackupEvent = { type: "backup.started", at, by, reason, file };
  const started = await appendEvent(ports, tenant, backupJournal, start);
  const contents = await (async () => {
    try {
      const counts = await countAudited(await copy.write());
      return { ...counts, bytes: await copy.publish() };
    } catch (error) {
      await copy.discard();
      throw error;
    }
  })();
  const end: BackupEvent = { type: "backup.ended", at: clock.now(), by, started, ...contents };
  await appendEvent(ports, tenant, backupJournal, end);
  return { file, at, ...contents };
}

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
