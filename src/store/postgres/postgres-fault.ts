import { type FaultCode, FaultError, fault } from "../../core/values/fault.ts";

/** An error that Postgres itself reported. */
interface SqlError extends Error {
  readonly code: string;
  readonly severity: string;
}

interface FaultKind {
  readonly code: FaultCode;
  readonly about: string;
}

const otherVersion = "run: writ migrate --store <url>; if a newer Writ has migrated it, use the newer Writ";

/** By SQLSTATE, the first two characters of a SQLSTATE, or the error code of the operating system. */
const faultKinds: Readonly<Record<string, FaultKind>> = {
  "25006": { code: "STORE_READ_ONLY", about: "it is read-only; connect to the primary, or enable writes" },
  "28": { code: "STORE_UNUSABLE", about: "it rejects this user; check the user, the password and pg_hba.conf" },
  "3D000": { code: "STORE_UNUSABLE", about: "the database does not exist; create it or use another name" },
  "3F000": { code: "STORE_OLDER", about: "the tables of Writ are missing; run: writ migrate --store <url>" },
  "42883": { code: "STORE_OLDER", about: `a function of Writ is missing; ${otherVersion}` },
  "42P01": { code: "STORE_OLDER", about: `a table of Writ is missing; ${otherVersion}` },
  "42501": {
    code: "STORE_UNUSABLE",
    about: "this user lacks a privilege; as the owner of the tables, run: writ migrate --grant <user> --store <url>",
  },
  "53100": { code: "STORE_FULL", about: "its disk is full; free some space and try again" },
  "53300": { code: "STORE_FAILED", about: "all its connections are in use; close some, or allow more" },
  "57P03": { code: "STORE_FAILED", about: "it is starting or stopping; try again" },
  ECONNREFUSED: { code: "STORE_FAILED", about: "the connection was refused; start the server, or check host and port" },
  ENOTFOUND: { code: "STORE_FAILED", about: "the host does not exist; check its name" },
  ETIMEDOUT: {
    code: "STORE_FAILED",
    about: "no connection in time; allow more with `connections` if all are busy, else check host, port and firewall",
  },
};

/** The message of the driver's error, which has no code, if connecting takes too long. */
const connectTimeoutMessage = /timeout exceeded when trying to connect|timeout expired/;

/** True if Postgres reported an error and rolled the transaction back. After any other error the outcome is unknown. */
export function isSqlError(error: unknown): error is SqlError {
  return error instanceof Error && "severity" in error && error.severity === "ERROR" && "code" in error;
}

export function sqlState(error: unknown): string | null {
  return isSqlError(error) ? error.code : null;
}

/** Makes the fault for an error after which nothing was written. */
export function toPostgresFault(error: unknown, where: string): FaultError {
  if (error instanceof FaultError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const known =
    faultKinds[code] ??
    faultKinds[code.slice(0, 2)] ??
    (connectTimeoutMessage.test(message) ? faultKinds.ETIMEDOUT : undefined);
  const { code: name, about } = known ?? { code: "STORE_FAILED", about: "nothing was written" };
  return new FaultError(fault(name, `${where}: ${about} (${message || code})`, { postgres: code }), { cause: error });
}

/** Makes the fault for a connection that broke during a write. */
export function unknownOutcomeFault(error: unknown, where: string): FaultError {
  const message = error instanceof Error ? error.message : String(error);
  const text = `${where}: the connection broke before the answer arrived (${message}); append the same entry again to learn whether it landed`;
  return new FaultError(fault("STORE_UNKNOWN", text), { cause: error });
}

/** Returns host, port and database of a URL, without the password. */
export function postgresAddress(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url);
    return `postgres ${hostname || "localhost"}${port && `:${port}`}${pathname}`;
  } catch {
    return "postgres";
  }
}
