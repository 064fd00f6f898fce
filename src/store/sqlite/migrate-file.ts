import { FaultError, fault } from "../../core/values/fault.ts";
import type { SqliteDatabase } from "./sqlite-driver.ts";
import { type SqliteMigration, sqliteMigrations } from "./sqlite-migrations.ts";

const applicationId = 0x57524954;

/** The migrations that were applied, and the version that the file has now. */
export interface FileMigration {
  readonly applied: readonly string[];
  readonly version: number;
}

/** How far a migration that moves rows has come. */
export interface MigrationProgress {
  readonly moved: number;
  /** About how many rows there are in all. */
  readonly total: number;
}

/**
 * Migrates the schema to the current version. Each migration and its record are one transaction, after the pieces of
 * the migration, which are transactions of their own. A new file is made in one transaction. Returns the names of the
 * migrations that it applied. No other process may use the file meanwhile.
 */
export function migrateFile(
  db: SqliteDatabase,
  file: string,
  onProgress: (progress: MigrationProgress) => void = () => {},
): readonly string[] {
  if (schemaVersion(db, file) === 0) return createSchema(db, file);
  const applied: string[] = [];
  for (const migration of sqliteMigrations) {
    if (schemaVersion(db, file) >= migration.number) continue;
    movePieces(db, migration, onProgress);
    const isNew = inTransaction(db, () => {
      // Another process may have applied it between the check and the lock.
      if (schemaVersion(db, file) >= migration.number) return false;
      applyMigration(db, migration);
      return true;
    });
    if (isNew) applied.push(migration.name);
  }
  assertNotNewer(schemaVersion(db, file), sqliteMigrations.length, file);
  return applied;
}

/** Makes the schema of a new file. It has no rows to move. */
function createSchema(db: SqliteDatabase, file: string): readonly string[] {
  return inTransaction(db, () => {
    // Another process may have made it between the check and the lock.
    if (schemaVersion(db, file) > 0) return [];
    for (const migration of sqliteMigrations) applyMigration(db, migration);
    return sqliteMigrations.map(({ name }) => name);
  });
}

function movePieces(
  db: SqliteDatabase,
  { pieces }: SqliteMigration,
  onProgress: (progress: MigrationProgress) => void,
): void {
  if (pieces === undefined) return;
  const total = pieces.count(db);
  for (let moved = 0, last = 1; last > 0; moved += last) {
    last = inTransaction(db, () => pieces.move(db));
    onProgress({ moved: moved + last, total: Math.max(total, moved + last) });
  }
}

function inTransaction<Result>(db: SqliteDatabase, work: () => Result): Result {
  db.exec("begin immediate");
  try {
    const result = work();
    db.exec("commit");
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec("rollback");
    throw error;
  }
}

/** Returns whether a file of the version `found` has the version of this code. Throws if it is of a newer version. */
export function isUpToDate(found: number, file: string): boolean {
  assertNotNewer(found, sqliteMigrations.length, file);
  return found === sqliteMigrations.length;
}

/** Throws if the file is of an older or newer version. */
export function assertUpToDate(db: SqliteDatabase, file: string): void {
  const [found, known] = [schemaVersion(db, file), sqliteMigrations.length];
  assertNotNewer(found, known, file);
  if (found === known) return;
  const message = `${file} has schema version ${found} and this version of Writ needs ${known}; run: writ migrate --store <file>`;
  throw new FaultError(fault("STORE_OLDER", message, { found, known }));
}

function applyMigration(db: SqliteDatabase, { number, name, sql }: SqliteMigration): void {
  db.exec(sql);
  db.prepare("insert into migration (number, name) values (?, ?)").run(number, name);
}

/** Returns the number of the latest migration, or 0 for a new file. Throws if another program made the database. */
export function schemaVersion(db: SqliteDatabase, file: string): number {
  if (queryOne(db, "pragma application_id") === applicationId) return queryOne(db, "select max(number) from migration");
  if (queryOne(db, "select count(*) from sqlite_schema") === 0) return 0;
  throw new FaultError(fault("STORE_UNUSABLE", `${file} is a SQLite database that is not of Writ; use another path`));
}

function assertNotNewer(found: number, known: number, file: string): void {
  if (found <= known) return;
  const message = `${file} has schema version ${found} and this version of Writ knows ${known}; use the newer Writ that wrote it`;
  throw new FaultError(fault("STORE_NEWER", message, { found, known }));
}

function queryOne(db: SqliteDatabase, sql: string): number {
  return Number(Object.values(db.prepare(sql).get() ?? {})[0]);
}
