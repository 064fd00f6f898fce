import { createRequire } from "node:module";
import { join } from "node:path";
import { FaultError, fault } from "../../core/values/fault.ts";
import { peerProblem } from "../../core/values/peer-package.ts";

/**
 * The part of `pg` that this store uses. `pg` is an optional peer dependency, because the other stores do not need it.
 */
export interface PgDriver {
  readonly Pool: new (settings: ConnectionSettings & PoolSettings) => Pool;
  readonly Client: new (settings: ConnectionSettings) => Client;
}

export interface ConnectionSettings {
  readonly connectionString: string;
  readonly application_name: string;
  readonly connectionTimeoutMillis: number;
  readonly query_timeout?: number;
  readonly keepAlive: boolean;
}

interface PoolSettings {
  readonly max: number;
  readonly idleTimeoutMillis: number;
  readonly allowExitOnIdle: boolean;
}

export interface Pool {
  connect(): Promise<PoolClient>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "connect", listener: (client: Client) => void): void;
}

export interface Connection {
  query<Row = unknown>(query: Query): Promise<{ readonly rows: readonly Row[] }>;
  /** Several statements, without values. */
  query(text: string): Promise<unknown>;
}

interface PoolClient extends Connection {
  /** Returns the connection to the pool, or closes it if it is broken. */
  release(isBroken: boolean): void;
}

export interface Client extends Connection {
  connect(): Promise<void>;
  end(): Promise<void>;
  /** Lets the process end while the connection is open. */
  unref(): void;
  on(event: "error" | "end", listener: (error?: Error) => void): void;
  on(event: "notification", listener: (message: { readonly payload?: string }) => void): void;
  on(event: "notice", listener: (notice: { readonly message?: string }) => void): void;
}

interface Query {
  readonly text: string;
  /** A named statement is prepared once per connection. */
  readonly name?: string;
  readonly values?: readonly PgValue[];
  readonly rowMode?: "array";
  readonly types?: { getTypeParser(oid: number, format?: string): (text: string) => unknown };
}

/** A buffer is sent unchanged, in Postgres's binary format. */
export type PgValue = string | number | boolean | Buffer | null;

export function loadPgDriver(): PgDriver {
  const load = findPackage();
  try {
    load.resolve("pg");
  } catch (cause) {
    throw new FaultError(fault("STORE_UNUSABLE", "the Postgres store needs the package pg; run: npm install pg"), {
      cause,
    });
  }
  const { version } = load("pg/package.json") as { readonly version: string };
  const problem = peerProblem({ name: "pg", tested: ["8"] }, version, "the Postgres store");
  if (problem !== null) throw new FaultError(fault("STORE_UNUSABLE", problem));
  return load("pg");
}

/** Returns the file that the driver is loaded from, for another thread. */
export function pgDriverPath(): string {
  return findPackage().resolve("pg");
}

/** A bundle in the format of CommonJS has no URL, so there the package is found from the working directory. */
function findPackage(): NodeJS.Require {
  return createRequire((import.meta.url as string | undefined) ?? join(process.cwd(), "program.js"));
}
