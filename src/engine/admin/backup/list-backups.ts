import { type BackupEvent, type BackupRecord, foldBackups } from "../../../core/settings/backup.ts";
import type { Tenant } from "../../../core/values/ids.ts";
import { GENESIS_HASH, JournalCodec } from "../../journal/journal-codec.ts";
import { backupJournal } from "../../journal/journal-names.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";

/** Returns the backups of a tenant and their restores, newest first. */
export async function listBackups(ports: WorkerPorts, tenant: Tenant): Promise<readonly BackupRecord[]> {
  return foldBackups(await readBackupEvents(ports, tenant)).toReversed();
}

export async function readBackupEvents({ store }: WorkerPorts, tenant: Tenant): Promise<readonly BackupEvent[]> {
  const journal = new JournalCodec(tenant, backupJournal);
  const stored = await store.events(tenant, backupJournal, 0);
  journal.assertIntact(stored, GENESIS_HASH, 0);
  return Promise.all(stored.map((event) => journal.open<BackupEvent>(event, store)));
}
