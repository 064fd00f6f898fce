import type { Instant } from "../values/ids.ts";

/** The restore of a store from a backup. Everything that happened after the backup is unknown to the store. */
export interface BackupRestore {
  /** Names the life of the store that began with the restore. */
  readonly incarnation: string;
  /** The time of the backup. Null if it is unknown. */
  readonly backup_at: Instant | null;
}

/** The run was in a backup that was restored. If it had not ended, no step starts until a person resumes it. */
export type RunRestored = {
  readonly type: "run.restored";
  readonly by: string;
  readonly reason: string;
} & BackupRestore;

/** The restore of the backup that contained a run. */
export interface RestoredRun extends BackupRestore {
  /** The number of steps that the run had then. */
  readonly steps: number;
}
