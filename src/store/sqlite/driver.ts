import { createRequire } from "node:module";
import { FaultError, fault } from "../../core/fault.ts";

/** What we need of SQLite, in the shape that `@photostructure/sqlite` and `node:sqlite` share. */
export interface Database {
  readonly isTransaction: boolean;
  prepare(sql: string): Statement;
  exec(sql: string): void;
  close(): void;
}

export interface Statement<Row = unknown> {
  run(...values: readonly Value[]): { readonly changes: number | bigint };
  get(...values: readonly Value[]): Row | undefined;
  all(...values: readonly Value[]): readonly Row[];
  /** From then on rows come as arrays of their columns. */
  setReturnArrays(enabled: boolean): void;
}

export type Value = string | number | Uint8Array | null;

interface Driver {
  readonly DatabaseSync: new (file: string) => Database;
}

/** Before 3.51.3 two connections that reset the write-ahead log at once could corrupt the file. */
const oldest = [3, 51, 3] as const;

export function connect(file: string): Database {
  return new (driver().DatabaseSync)(file);
}

/** The prebuilt driver where it loads, else the one that newer Node brings along. Both may be missing. */
function driver(): Driver {
  const load = createRequire(import.meta.url);
  try {
    return load("@photostructure/sqlite");
  } catch (cause) {
    const builtin: unknown = process.getBuiltinModule("node:sqlite");
    if (builtin !== undefined) return builtin as Driver;
    const message = "no SQLite driver loads here; install @photostructure/sqlite for this platform or use a newer Node";
    throw new FaultError(fault("STORE_UNUSABLE", message), { cause });
  }
}

export function assertRecent(version: string): void {
  const parts = version.split(".").map(Number);
  for (const [index, least] of oldest.entries()) {
    const part = parts[index] ?? 0;
    if (part > least) return;
    if (part === least) continue;
    const message = `SQLite ${version} can corrupt a write-ahead log; use a driver with SQLite ${oldest.join(".")} or later`;
    throw new FaultError(fault("STORE_UNUSABLE", message, { found: version, needed: oldest.join(".") }));
  }
}
