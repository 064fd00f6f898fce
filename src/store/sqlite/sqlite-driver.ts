import { createRequire } from "node:module";
import { join } from "node:path";
import { FaultError, fault } from "../../core/values/fault.ts";
import { installedPackageProblem } from "../../peer-packages/installed-package-problem.ts";

/** The part of the interface of `@photostructure/sqlite` and `node:sqlite` that this store uses. */
export interface SqliteDatabase {
  readonly isTransaction: boolean;
  prepare(sql: string): SqliteStatement;
  exec(sql: string): void;
  close(): void;
}

export interface SqliteStatement<Row = unknown> {
  run(...values: readonly SqliteValue[]): { readonly changes: number | bigint };
  get(...values: readonly SqliteValue[]): Row | undefined;
  all(...values: readonly SqliteValue[]): readonly Row[];
  /** If enabled, rows are arrays of their columns. */
  setReturnArrays(enabled: boolean): void;
}

/** Prepares a statement. */
export type Prepare = <Row>(sql: string) => SqliteStatement<Row>;

export type SqliteValue = string | number | Uint8Array | null;

interface SqliteDriver {
  backup(source: SqliteDatabase, file: string, options: { readonly rate: number }): Promise<number>;
  readonly DatabaseSync: new (file: string) => SqliteDatabase;
}

/** The drivers of a process. A driver that is missing is null. */
export interface SqliteDrivers<Driver = SqliteDriver> {
  /** The version of Node, such as 24.1.0. */
  readonly node: string;
  /** The version of SQLite in the driver of Node, such as 3.51.3. */
  readonly builtinSqlite: string | undefined;
  builtin(): Driver | null;
  /** The package `@photostructure/sqlite`. */
  addon(): Driver | null;
}

/** Before 3.51.3, two connections that reset the write-ahead log at the same time could corrupt the file. */
const oldestSqlite = "3.51.3";

/** Older versions of Node have no driver, or print a warning when it is loaded. */
const oldestNodeWithDriver = "24.0.0";

export function connectSqlite(file: string): SqliteDatabase {
  return new (loadDriver().DatabaseSync)(file);
}

let loaded: SqliteDriver | null = null;

function loadDriver(): SqliteDriver {
  loaded ??= chooseDriver(thisProcess);
  return loaded;
}

/** More pages than a file can have. The driver of Node refuses -1, which means all pages to SQLite. */
const ALL_PAGES = 2 ** 31 - 1;

/** Copies a database to a file, on a thread, in one step. */
export async function backupSqlite(source: SqliteDatabase, file: string): Promise<void> {
  await loadDriver().backup(source, file, { rate: ALL_PAGES });
}

/** Prefers the driver of Node if it is stable and its SQLite is new enough, and else the package. */
export function chooseDriver<Driver>(drivers: SqliteDrivers<Driver>): Driver {
  const prefersBuiltin =
    isAtLeast(drivers.node, oldestNodeWithDriver) && isAtLeast(drivers.builtinSqlite ?? "0", oldestSqlite);
  const driver = prefersBuiltin ? (drivers.builtin() ?? drivers.addon()) : (drivers.addon() ?? drivers.builtin());
  if (driver !== null) return driver;
  const message = "no SQLite driver can be loaded; use Node 24 or later, or run: npm install @photostructure/sqlite";
  throw new FaultError(fault("STORE_UNUSABLE", message));
}

const thisProcess: SqliteDrivers = {
  node: process.versions.node,
  builtinSqlite: process.versions.sqlite,
  builtin: () => (process.getBuiltinModule("node:sqlite") as unknown as SqliteDriver | undefined) ?? null,
  addon: () => {
    // A bundle in the format of CommonJS has no URL, so there the package is found from the working directory.
    const load = createRequire((import.meta.url as string | undefined) ?? join(process.cwd(), "program.js"));
    try {
      load.resolve("@photostructure/sqlite");
    } catch {
      return null;
    }
    const problem = installedPackageProblem({ name: "@photostructure/sqlite", tested: ["1", "2"] }, "the SQLite store");
    if (problem !== null) throw new FaultError(fault("STORE_UNUSABLE", problem));
    return load("@photostructure/sqlite");
  },
};

export function assertSqliteVersion(version: string): void {
  if (isAtLeast(version, oldestSqlite)) return;
  const message = `SQLite ${version} can corrupt a write-ahead log, and Writ needs ${oldestSqlite}; use a newer Node, or run: npm install @photostructure/sqlite`;
  throw new FaultError(fault("STORE_UNUSABLE", message, { found: version, needed: oldestSqlite }));
}

function isAtLeast(version: string, least: string): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, needed] of least.split(".").map(Number).entries()) {
    const part = parts[index] ?? 0;
    if (part !== needed) return part > needed;
  }
  return true;
}
