import { tablesMigration } from "./migrations/0001-tables.ts";
import { appendMigration } from "./migrations/0002-append.ts";
import { readsMigration } from "./migrations/0003-reads.ts";
import { leasesMigration } from "./migrations/0004-leases.ts";
import { needsMigration } from "./migrations/0005-needs.ts";
import { journalsMigration } from "./migrations/0006-journals.ts";
import { glancesMigration } from "./migrations/0007-glances.ts";
import { appendAllMigration } from "./migrations/0008-append-all.ts";
import { plainOwnerMigration } from "./migrations/0009-plain-owner.ts";
import { workerRulesMigration } from "./migrations/0010-worker-rules.ts";
import { sentMigration } from "./migrations/0011-sent.ts";
import { asksMigration } from "./migrations/0012-asks.ts";
import { rowTagsMigration } from "./migrations/0013-row-tags.ts";
import { postgresRunToolsMigration } from "./migrations/0014-run-tools.ts";
import { tagChangesMigration } from "./migrations/0015-tag-changes.ts";

/** One step of the schema. It is text in the code, because a bundle of a program has no other files of the package. */
export interface PostgresMigration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** All migrations in order. An applied migration never changes. */
export const postgresMigrations: readonly PostgresMigration[] = [
  tablesMigration,
  appendMigration,
  readsMigration,
  leasesMigration,
  needsMigration,
  journalsMigration,
  glancesMigration,
  appendAllMigration,
  plainOwnerMigration,
  workerRulesMigration,
  sentMigration,
  asksMigration,
  rowTagsMigration,
  postgresRunToolsMigration,
  tagChangesMigration,
];
