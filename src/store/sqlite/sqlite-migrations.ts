import { journalMigration } from "./migrations/0001-journal.ts";
import { predecessorsMigration } from "./migrations/0002-predecessors.ts";
import { sinceMigration } from "./migrations/0003-since.ts";
import { placesMigration } from "./migrations/0004-places.ts";
import { markerCountMigration } from "./migrations/0005-marker-count.ts";
import { workersMigration } from "./migrations/0006-workers.ts";
import { wantedMigration } from "./migrations/0007-wanted.ts";

/** One step of the schema. It is text in the code, because a bundle of a program has no other files of the package. */
export interface SqliteMigration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
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
];
