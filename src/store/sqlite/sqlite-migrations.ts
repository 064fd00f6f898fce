import { journalMigration } from "./migrations/0001-journal.ts";
import { predecessorsMigration } from "./migrations/0002-predecessors.ts";
import { sinceMigration } from "./migrations/0003-since.ts";
import { placesMigration } from "./migrations/0004-places.ts";
import { markerCountMigration } from "./migrations/0005-marker-count.ts";
import { workersMigration } from "./migrations/0006-workers.ts";
import { wantedMigration } from "./migrations/0007-wanted.ts";
import { eventLogMigration } from "./migrations/0008-event-log.ts";
import { movedEventsMigration } from "./migrations/0009-moved-events.ts";
import { tagsMigration } from "./migrations/0010-tags.ts";
import { runToolsMigration } from "./migrations/0011-run-tools.ts";
import { unneededIndexesMigration } from "./migrations/0012-unneeded-indexes.ts";
import { headsBehindMigration } from "./migrations/0013-heads-behind.ts";
import type { SqliteDatabase } from "./sqlite-driver.ts";

/** One step of the schema. It is text in the code, because a bundle of a program has no other files of the package. */
export interface SqliteMigration {
  readonly number: number;
  readonly name: string;
  /** Work before `sql` that is too long for one transaction. */
  readonly pieces?: MigrationPieces;
  readonly sql: string;
}

/** Rows that a migration moves in pieces. A process that was killed in between continues with the next piece. */
interface MigrationPieces {
  /** Returns about how many rows are left. */
  readonly count: (db: SqliteDatabase) => number;
  /** Moves some rows, inside a transaction. Returns how many it moved; 0 if none is left. */
  readonly move: (db: SqliteDatabase) => number;
}

/** All migrations in order. An applied migration never changes. */
export const sqliteMigrations: readonly SqliteMigration[] = [
  journalMigration,
  predecessorsMigration,
  sinceMigration,
  placesMigration,
  markerCountMigration,
  workersMigration,
  wantedMigration,
  eventLogMigration,
  movedEventsMigration,
  tagsMigration,
  runToolsMigration,
  unneededIndexesMigration,
  headsBehindMigration,
];
