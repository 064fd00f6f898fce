import { type FaultCode, FaultError, fault } from "../../core/fault.ts";

/** An error that Postgres itself reported. */
interface Reported extends Error {
  readonly code: string;
  readonly severity: string;
}

interface Kind {
  readonly code: FaultCode;
  readonly about: string;
}

/** By SQLSTATE, or by its first two characters, or by the operating system's word for what is wrong with a connection. */
const kinds: Readonly<Record<string, Kind>> = {
  "25006": { code: "STORE_READ_ONLY", about: "it takes no writes; connect to the primary, or let it be written" },
  "28": { code: "STORE_UNUSABLE", about: "it does not let this user in; check the user, the password and pg_hba.conf" },
  "3D000": { code: "STORE_UNUSABLE", about: "there is no such database; create it or give another name" },
  "3F000": { code: "STORE_OLDER", about: "Writ's tables are not there; run: writ migrate --store <url>" },
  "42883": { code: "STORE_OLDER", about: "a function of Writ is not there; run: writ migrate --store <url>" },
  "42P01": { code: "STORE_OLDER", about: "a table of Writ is not there; run: writ migrate --store <url>" },
  "42501": {
    code: "STORE_UNUSABLE",
    about: "this user may not do that; as the owner of the tables, run: writ migrate --grant <user> --store <url>",
  },
  "53100": { code: "STORE_FULL", about: "no room is left on its disk; free some and try again" },
  "53300": { code: "STORE_FAILED", about: "it has no connection left; close some, or allow more" },
  "57P03": { code: "STORE_FAILED", about: "it is starting or stopping; try again" },
  ECONNREFUSED: { code: "STORE_FAILED", about: "nobody answers there; start the server, or check host and port" },
  ENOTFOUND: { code: "STORE_FAILED", about: "there is no such host; check its name" },
  ETIMEDOUT: {
    code: "STORE_FAILED",
    about: "no connection in time; allow more with `connections` if all are busy, else check host, port and firewall",
  },
};

/** What the driver says, without a code, when it has waited long enough. */
const noConnection = /timeout exceeded when trying to connect|timeout expired/;

/** Whether Postgres said no and lives: then nothing of the transaction is left. Anything else may have been too late to tell. */
export function isRefusal(error: unknown): error is Reported {
  return error instanceof Error && "severity" in error && error.severity === "ERROR" && "code" in error;
}

export function sqlState(error: unknown): string | null {
  return isRefusal(error) ? error.code : null;
}

/** Nothing was written. */
export function failed(error: unknown, where: string): FaultError {
  if (error instanceof FaultError) return error;
  const said = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const known = kinds[code] ?? kinds[code.slice(0, 2)] ?? (noConnection.test(said) ? kinds.ETIMEDOUT : undefined);
  const { code: name, about } = known ?? { code: "STORE_FAILED", about: "nothing was written" };
  return new FaultError(fault(name, `${where}: ${about} (${said || code})`, { postgres: code }), { cause: error });
}

/** The connection broke with the question under way. */
export function unknown(error: unknown, where: string): FaultError {
  const said = error instanceof Error ? error.message : String(error);
  const message = `${where}: the connection broke before the answer came (${said}); the same entry again tells whether it landed`;
  return new FaultError(fault("STORE_UNKNOWN", message), { cause: error });
}

/** Where a store is, without its password. */
export function placeOf(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url);
    return `postgres ${hostname || "localhost"}${port && `:${port}`}${pathname}`;
  } catch {
    return "postgres";
  }
}
