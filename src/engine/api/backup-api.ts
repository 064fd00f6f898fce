import type { BackupContents, RestoreCounts } from "../../core/settings/backup.ts";
import type { Instant } from "../../core/values/ids.ts";
import type { ReasonOptions } from "./request-options.ts";

/** A backup that was made and verified. */
export interface BackupReport extends BackupContents {
  readonly file: string;
  /** Everything before this time is in the backup. */
  readonly at: Instant;
}

export interface AdoptOptions extends ReasonOptions {
  /** When the backup was made, in milliseconds since 1970. By default the store says it, if `backup` made it. */
  readonly backupAt?: Instant | number;
}

/** The result of adopting a restored backup. */
export interface AdoptReport extends RestoreCounts {
  readonly incarnation: string;
  readonly backup_at: Instant | null;
}
