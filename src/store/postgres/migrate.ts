import { readdirSync, readFileSync } from "node:fs";
import { FaultError, fault } from "../../core/fault.ts";
import { type Client, type Connection, driver } from "./driver.ts";
import { failed, placeOf } from "./postgres-fault.ts";

const folder = new URL("./migrations/", import.meta.url);

/** Any number that nobody else locks: "Writ" in ASCII. */
const lock = 0x57726974;

const oldestServer = 150_000;

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

export interface MigrateOptions {
  /** The role that the application connects as: it gets what it needs and no more. It must exist. */
  readonly grant?: string;
}

export interface Migrated {
  /** The migrations that were applied now, in their order. */
  readonly applied: readonly string[];
  readonly version: number;
}

/** Brings the schema up to date as the role that shall own it. Of two at once, one waits for the other and finds nothing to do. */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<Migrated> {
  const where = placeOf(url);
  const client = new (driver().Client)({
    connectionString: url,
    application_name: "writ migrate",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  client.on("error", () => {}); // Whoever waits for a query is told by it.
  try {
    await client.connect();
    return await inTransaction(client, () => bringUpToDate(client, where, options));
  } catch (error) {
    throw failed(error, where);
  } finally {
    await client.end().catch(() => {});
  }
}

async function inTransaction<Result>(client: Client, work: () => Promise<Result>): Promise<Result> {
  await client.query("begin");
  try {
    const result = await work();
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }
}

async function bringUpToDate(client: Client, where: string, { grant }: MigrateOptions): Promise<Migrated> {
  await assertServer(client, where);
  await client.query({ text: "select pg_advisory_xact_lock($1)", values: [lock] });
  const found = await schemaVersion(client, where);
  assertNotNewer(found, where);
  const missing = migrations.filter(({ number }) => number > found);
  for (const { number, name, sql } of missing) {
    await client.query(sql);
    await client.query({ text: "insert into writ.migration (number, name) values ($1, $2)", values: [number, name] });
  }
  if (grant !== undefined) await client.query(grantsTo(grant));
  return { applied: missing.map(({ name }) => name), version: migrations.length };
}

/** What the store does, by table. No event is ever deleted, and of one that is there only the body may go. */
const rights: Readonly<Record<string, string>> = {
  migration: "select",
  head: "select, insert, update",
  event: "select, insert, update (body, body_hash)",
  rows: "select, insert, update, delete",
  tally: "select, insert, update",
  due: "select, insert, update, delete",
  need: "select, insert, delete",
  lease: "select, insert, update, delete",
  blob: "select, insert, delete",
  marker: "select, insert, update",
  boot: "select, insert",
};

function grantsTo(role: string): string {
  const name = `"${role.replaceAll('"', '""')}"`;
  const tables = Object.entries(rights).map(([table, allowed]) => `grant ${allowed} on writ.${table} to ${name}`);
  return [
    `grant usage on schema writ to ${name}`,
    `grant execute on all functions in schema writ to ${name}`,
    ...tables,
  ].join("; ");
}

const migrations: readonly Migration[] = readdirSync(folder)
  .filter((name) => name.endsWith(".sql"))
  .sort()
  .map((name) => ({
    number: Number.parseInt(name, 10),
    name: name.replace(/\.sql$/, ""),
    sql: readFileSync(new URL(name, folder), "utf8"),
  }));

/** Refuses a server or a schema that this version of Writ cannot work with. */
export async function assertUsable(connection: Connection, where: string): Promise<void> {
  await assertServer(connection, where);
  const found = await schemaVersion(connection, where);
  assertNotNewer(found, where);
  if (found === migrations.length) return;
  const what =
    found === 0
      ? "has no tables of Writ"
      : `has schema version ${found} and this version of Writ needs ${migrations.length}`;
  const message = `${where} ${what}; as the role that shall own them, run: writ migrate --store <url>`;
  throw new FaultError(fault("STORE_OLDER", message, { found, known: migrations.length }));
}

async function assertServer(connection: Connection, where: string): Promise<void> {
  const text = `select current_setting('server_version_num')::integer, current_setting('server_version'),
    current_setting('server_encoding'), pg_is_in_recovery()`;
  const { rows } = await connection.query<readonly [number, string, string, boolean]>({ text, rowMode: "array" });
  const [number = 0, version = "", encoding = "", isStandby = false] = rows[0] ?? [];
  if (number < oldestServer) {
    const message = `${where} is Postgres ${version}; Writ needs ${oldestServer / 10_000} or later`;
    throw new FaultError(fault("STORE_UNUSABLE", message, { found: version }));
  }
  if (isStandby) {
    throw new FaultError(fault("STORE_READ_ONLY", `${where} is a standby; connect to the primary it follows`));
  }
  if (encoding !== "UTF8") {
    const message = `${where} keeps its text as ${encoding}; Writ needs a database with encoding UTF8`;
    throw new FaultError(fault("STORE_UNUSABLE", message, { found: encoding }));
  }
}

/** 0: nothing of Writ is there. */
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
  throw new FaultError(fault("STORE_UNUSABLE", `${where} has a schema writ of something else; use another database`));
}

function assertNotNewer(found: number, where: string): void {
  if (found <= migrations.length) return;
  const message = `${where} has schema version ${found} and this version of Writ knows ${migrations.length}; use the newer Writ that wrote it`;
  throw new FaultError(fault("STORE_NEWER", message, { found, known: migrations.length }));
}
