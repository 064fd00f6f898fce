import type { BackupRestore } from "../event/backup-restore.ts";
import type { HeldIn } from "../values/held-in.ts";
import type { Instant } from "../values/ids.ts";

/** An event in the backup journal of a tenant: a backup that a principal made, or the restore of one. */
export type BackupEvent = { readonly at: Instant; readonly by: string } & HeldIn &
  (
    | { readonly type: "backup.started"; readonly reason: string; readonly file: string }
    /** `started`: the position of the event that started it. */
    | ({ readonly type: "backup.ended"; readonly started: number } & BackupContents)
    | ({ readonly type: "restore.started"; readonly reason: string } & BackupRestore)
    | ({ readonly type: "restore.ended"; readonly started: number } & RestoreCounts)
  );

/** The content of a backup. */
export interface BackupContents {
  readonly tenants: number;
  /** The number of journals: those of runs, and those of schedules, signals and settings. */
  readonly journals: number;
  readonly events: number;
  readonly bytes: number;
}

/** The changes that a restore made, so that nothing is repeated. */
export interface RestoreCounts {
  /** Runs that had not ended. A person releases each of them. */
  readonly parked: number;
  /** Runs that had ended. Their acts are held if they are resumed. */
  readonly ended: number;
  /** Schedules that were on. They are paused. */
  readonly schedules: number;
}

/** A backup, or the restore of one: who, when, why and what. Null: it is under way, failed, or a crash cut it off. */
export type BackupRecord = { readonly at: Instant; readonly by: string; readonly reason: string } & (
  | { readonly kind: "backup"; readonly file: string; readonly contents: BackupContents | null }
  | ({ readonly kind: "restore"; readonly changed: RestoreCounts | null } & BackupRestore)
);

/** Folds the events of the journal into records, oldest first. */
export function foldBackups(journal: readonly BackupEvent[]): readonly BackupRecord[] {
  const records = new Map<number, BackupRecord>();
  for (const [index, event] of journal.entries()) {
    const record = "started" in event ? records.get(event.started) : undefined;
    switch (event.type) {
      case "backup.started": {
        const { at, by, reason, file } = event;
        records.set(index + 1, { kind: "backup", at, by, reason, file, contents: null });
        break;
      }
      case "restore.started": {
        const { at, by, reason, incarnation, backup_at } = event;
        records.set(index + 1, { kind: "restore", at, by, reason, incarnation, backup_at, changed: null });
        break;
      }
      case "backup.ended": {
        const { tenants, journals, events, bytes } = event;
        const contents = { tenants, journals, events, bytes };
        if (record?.kind === "backup") records.set(event.started, { ...record, contents });
        break;
      }
      case "restore.ended": {
        const { parked, ended, schedules } = event;
        if (record?.kind === "restore")
          records.set(event.started, { ...record, changed: { parked, ended, schedules } });
        break;
      }
    }
  }
  return [...records.values()];
}

/** Returns when the backup was made that holds this journal: it ends with the start of the backup. Null: unknown. */
export function backupTime(journal: readonly BackupEvent[]): Instant | null {
  const last = journal.at(-1);
  return last?.type === "backup.started" ? last.at : null;
}
