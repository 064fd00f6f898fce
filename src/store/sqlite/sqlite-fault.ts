import { type FaultCode, FaultError, fault } from "../../core/values/fault.ts";

/** Another connection holds a lock that is needed. */
export const SQLITE_BUSY = 5;

interface FaultKind {
  readonly code: FaultCode;
  readonly about: string;
}

/** By SQLite's primary result code. */
const faultKinds: Readonly<Record<number, FaultKind>> = {
  [SQLITE_BUSY]: { code: "STORE_FAILED", about: "another process kept it locked for too long; try again" },
  8: { code: "STORE_READ_ONLY", about: "it cannot be written; check its permissions and its disk" },
  10: { code: "STORE_FAILED", about: "the disk failed; check it before you continue" },
  11: { code: "STORE_UNUSABLE", about: "it is damaged; restore a backup" },
  13: { code: "STORE_FULL", about: "the disk is full; free some space and try again" },
  14: { code: "STORE_UNUSABLE", about: "it cannot be opened; check the path and its permissions" },
  26: { code: "STORE_UNUSABLE", about: "it is not a SQLite database; use another path" },
};

const foreignSchema: FaultKind = {
  code: "STORE_UNUSABLE",
  about: "its tables differ from those of Writ; restore a backup or use another path",
};

/** Returns the primary result code of a SQLite error, or null for any other error. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return null;
  return error.errcode & 0xff;
}

/** Makes a fault of a SQLite error, after which nothing was written. Returns any other error unchanged. */
export function toSqliteFault(error: unknown, file: string, kind?: FaultKind): unknown {
  const code = sqliteCode(error);
  if (code === null || !(error instanceof Error)) return error;
  const { code: name, about } = kind ?? faultKinds[code] ?? { code: "STORE_FAILED", about: "nothing was written" };
  return new FaultError(fault(name, `${file}: ${about} (SQLite says: ${error.message})`, { sqlite: code }), {
    cause: error,
  });
}

/** Like `toSqliteFault`, for opening a file: there an SQL error means that the tables of the file were changed. */
export function toOpeningFault(error: unknown, file: string): unknown {
  return sqliteCode(error) === 1 ? toSqliteFault(error, file, foreignSchema) : toSqliteFault(error, file);
}
