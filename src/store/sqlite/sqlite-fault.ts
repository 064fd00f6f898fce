import { type FaultCode, FaultError, fault } from "../../core/fault.ts";

interface Kind {
  readonly code: FaultCode;
  readonly about: string;
}

/** By SQLite's primary result code. */
const kinds: Readonly<Record<number, Kind>> = {
  5: { code: "STORE_FAILED", about: "another process kept it locked for too long; try again" },
  8: { code: "STORE_READ_ONLY", about: "it cannot be written; check its permissions and its disk" },
  10: { code: "STORE_FAILED", about: "the disk failed; check it before going on" },
  11: { code: "STORE_UNUSABLE", about: "it is damaged; restore a backup" },
  13: { code: "STORE_FULL", about: "no room is left; free some and try again" },
  14: { code: "STORE_UNUSABLE", about: "it cannot be opened; check the path and its permissions" },
  26: { code: "STORE_UNUSABLE", about: "it is not a SQLite database; give another path" },
};

const strangeTables: Kind = {
  code: "STORE_UNUSABLE",
  about: "its tables are not those that Writ made; restore a backup or give another path",
};

/** The code SQLite failed with, or null if it was not SQLite that failed. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return null;
  return error.errcode & 0xff;
}

/** What a SQLite error means to the caller: nothing was written, and what to do now. Other errors stay what they are. */
export function asFault(error: unknown, file: string, kind?: Kind): unknown {
  const code = sqliteCode(error);
  if (code === null || !(error instanceof Error)) return error;
  const { code: name, about } = kind ?? kinds[code] ?? { code: "STORE_FAILED", about: "nothing was written" };
  return new FaultError(fault(name, `${file}: ${about} (SQLite says: ${error.message})`, { sqlite: code }), {
    cause: error,
  });
}

/** The same while a file is opened, when SQL that a test has seen work can only fail on a file that someone changed. */
export function asOpeningFault(error: unknown, file: string): unknown {
  return sqliteCode(error) === 1 ? asFault(error, file, strangeTables) : asFault(error, file);
}
