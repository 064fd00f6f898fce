import { FaultError, fault } from "../../core/values/fault.ts";
import { type Client, type Connection, loadPgDriver } from "./pg-driver.ts";
import { postgresAddress, sqlState, toPostgresFault } from "./postgres-fault.ts";
import { postgresMigrations } from "./postgres-migrations.ts";

/** A number that is unlikely to be locked by another application: "Writ" in ASCII. */
const advisoryLock = 0x57726974;

const oldestServerVersion = 140_000;

/** A server may allow less, and a busy machine pauses longer between two statements. */
const IDLE_LIMIT = "60s";

export interface MigrateOptions {
  /** The existing role that the application connects as; it is granted exactly the privileges it needs. */
  readonly grant?: string;
}

export interface MigrationResult {
  /** The migrations that this call applied, in order. */
  readonly applied: readonly string[];
  readonly version: number;
}

/**
 * Migrates the schema to the current version; the connecting role owns it. Concurrent migrations wait for each other.
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<MigrationResult> {
  const where = postgresAddress(url);
  const client = new (loadPgDriver().Client)({
    connectionString: url,
    application_name: "writ migrate",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  client.on("error", () => {}); // The pending query rejects with the same error.
  try {
    await client.connect();
    return await inTransaction(client, () => applyMigrations(client, where, options));
  } catch (error) {
    throw sqlState(error) === "42501" ? lackingPrivilege(error, where) : toPostgresFault(error, where);
  } finally {
    await client.end().catch(() => {});
  }
}

function lackingPrivilege(cause: unknown, where: string): FaultError {
  const about =
    "this role lacks a privilege; migrate as the owner of the database, or of the schema writ if it exists; no superuser is needed";
  const message = `${where}: ${about} (${cause instanceof Error ? cause.message : cause})`;
  return new FaultError(fault("STORE_UNUSABLE", message, { postgres: "42501" }), { cause });
}

async function inTransaction<Result>(client: Client, work: () => Promise<Result>): Promise<Result> {
  await client.query(`begin; set local idle_in_transaction_session_timeout = '${IDLE_LIMIT}'`);
  try {
    const result = await work();
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }
}

async function applyMigrations(client: Client, where: string, { grant }: MigrateOptions): Promise<MigrationResult> {
  await assertServer(client, where);
  await client.query({ text: "select pg_advisory_xact_lock($1)", values: [advisoryLock] });
  const found = await schemaVersion(client, where);
  assertNotNewer(found, where);
  const missing = postgresMigrations.filter(({ number }) => number > found);
  for (const { number, name, sql } of missing) {
    await client.query(sql);
    await client.query({ text: "insert into writ.migration (number, name) values ($1, $2)", values: [number, name] });
  }
  if (grant !== undefined) await client.query(grantStatements(grant));
  return { applied: missing.map(({ name }) => name), version: postgresMigrations.length };
}

/** The privileges that the store needs on each table. Events are never deleted; only their bodies are erased. */
const tablePrivileges: Readonly<Record<string, string>> = {
  migration: "select",
  head: "select, insert, update",
  event: "select, insert, update (body, body_hash)",
  rows: "select, insert, update, delete",
  tally: "select, insert, update",
  due: "select, insert, update, delete",
  need: "select, insert, delete",
  tag: "select, insert, delete",
  outdated: "select, delete",
  lease: "select, insert, update, delete",
  blob: "select, insert, delete",
  marker: "select, insert, update",
  sent: "select, insert, update",
  boot: "select, insert",
};

function grantStatements(role: string): string {
  const name = `"${role.replaceAll('"', '""')}"`;
  const tables = Object.entries(tablePrivileges).map(
    ([table, allowed]) => `grant ${allowed} on writ.${table} to ${name}`,
  );
  return [
    `grant usage on schema writ to ${name}`,
    `grant execute on all functions in schema writ to ${name}`,
    ...tables,
  ].join("; ");
}

/** Throws if this version of Writ cannot use the server or the schema. */
export async function assertUsable(connection: Connection, where: string): Promise<void> {
  await assertServer(connection, where);
  const found = await schemaVersion(connection, where);
  assertNotNewer(found, where);
  if (found === postgresMigrations.length) return;
  const what =
    found === 0
      ? "has no tables of Writ"
      : `has schema version ${found} and this version of Writ needs ${postgresMigrations.length}`;
  const message = `${where} ${what}; as the role that is to own them, run: writ migrate --store <url>`;
  throw new FaultError(fault("STORE_OLDER", message, { found, known: postgresMigrations.length }));
}

async function assertServer(connection: Connection, where: string): Promise<void> {
  const text = `select current_setting('server_version_num')::integer, current_setting('server_version'),
    current_setting('server_encoding'), pg_is_in_recovery()`;
  const { rows } = await connection.query<readonly [number, string, string, boolean]>({ text, rowMode: "array" });
  const [number = 0, version = "", encoding = "", isStandby = false] = rows[0] ?? [];
  if (number < oldestServerVersion) {
    const message = `${where} is Postgres ${version}; Writ needs ${oldestServerVersion / 10_000} or later`;
    throw new FaultError(fault("STORE_UNUSABLE", message, { found: version }));
  }
  if (isStandby) {
    throw new FaultError(fault("STORE_READ_ONLY", `${where} is a standby; connect to its primary`));
  }
  if (encoding !== "UTF8") {
    const message = `${where} stores text as ${encoding}; Writ needs a database with encoding UTF8`;
    throw new FaultError(fault("STORE_UNUSABLE", message, { found: encoding }));
  }
}

/** Returns the number of the latest migration, or 0 if there is no schema of Writ. */
async function schemaVersion(connection: Connection, where: string): Promise<number> {
  const text = "select to_regnamespace('writ') is not null, to_regclass('writ.migration') is not null";
  const { rows } = await connection.query<readonly [boolean, boolean]>({ text, rowMode: "array" });
  const [hasSchema = false, hasMigrations = false] = rows[0] ?? [];
  if (hasMigrations) {
    const newest = await connection.query<readonly [number | null]>({
      text: "select max(number) from writ.migration",
      rowMode: "array",
    });
    return newest.rows[0]?.[0] ?? 0;
  }
  if (!hasSchema) return 0;
  throw new FaultError(
    fault("STORE_UNUSABLE", `${where} has a schema named writ that is not of Writ; use another database`),
  );
}

function assertNotNewer(found: number, where: string): void {
  if (found <= postgresMigrations.length) return;
  const message = `${where} has schema version ${found} and this version of Writ knows ${postgresMigrations.length}; use the newer Writ that wrote it`;
  throw new FaultError(fault("STORE_NEWER", message, { found, known: postgresMigrations.length }));
}
