import { FaultError, fault } from "../../core/values/fault.ts";
import type { SqliteDatabase } from "./sqlite-driver.ts";
import { sqliteMigrations } from "./sqlite-migrations.ts";

interface SchemaObject {
  readonly type: "table" | "index" | "view" | "trigger";
  readonly name: string;
  /** The table that an index or a trigger belongs to. */
  readonly of: string;
}

/**
 * Throws if the file lacks a table or index of Writ, or has a table, index, view or trigger that is not of Writ: a
 * trigger could change or drop what Writ writes, and the journal would not show it.
 */
export function assertOnlyOwnObjects(db: SqliteDatabase, file: string): void {
  const objects = readObjects(db);
  assertComplete(objects, file);
  const foreign = objects.filter(({ type, name }) => !knownObjects.has(`${type} ${name}`));
  if (foreign.length === 0) return;
  const names = foreign.map(({ type, name, of }) => `the ${type} ${name}${name === of ? "" : ` on ${of}`}`);
  const message = `${file} contains ${names.join(", ")}, which Writ did not create; find out who did, drop it, and run: writ audit`;
  throw new FaultError(fault("STORE_UNUSABLE", message, { foreign: names }));
}

function assertComplete(objects: readonly SchemaObject[], file: string): void {
  const found = new Set(objects.map(({ type, name }) => `${type} ${name}`));
  const missing = [...knownObjects].filter((known) => !found.has(known));
  if (missing.length === 0) return;
  const message = `${file}: its tables differ from those of Writ, no such ${missing.join(", ")}; restore a backup or use another path`;
  throw new FaultError(fault("STORE_UNUSABLE", message, { missing }));
}

/** The objects that the migrations leave, read from their text: to make an empty database takes longer. */
const knownObjects: ReadonlySet<string> = createdObjects();

function createdObjects(): ReadonlySet<string> {
  const objects = new Set<string>();
  for (const { sql } of sqliteMigrations)
    for (const [, verb, object = ""] of sql.matchAll(/^(create|drop) ((?:table|index) \w+)/gm))
      verb === "create" ? objects.add(object) : objects.delete(object);
  return objects;
}

/** The tables of SQLite itself, and of Litestream, which replicates a file, are not listed. */
function readObjects(db: SqliteDatabase): readonly SchemaObject[] {
  const sql = `select type, name, tbl_name as "of" from sqlite_schema
    where name not like 'sqlite\\_%' escape '\\' and tbl_name not like '\\_litestream\\_%' escape '\\' order by name`;
  return db.prepare(sql).all() as readonly SchemaObject[];
}
