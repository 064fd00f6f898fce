import { createRequire } from "node:module";
import { FaultError, fault } from "../../core/fault.ts";

/** What we need of `pg`, an optional peer: whoever keeps runs in a file does not install it. */
export interface Driver {
  readonly Pool: new (settings: Settings & PoolSettings) => Pool;
  readonly Client: new (settings: Settings) => Client;
}

export interface Settings {
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
  /** Back to the pool; or, if it is broken, away with it. */
  release(isBroken: boolean): void;
}

export interface Client extends Connection {
  connect(): Promise<void>;
  end(): Promise<void>;
  /** From then on it does not keep the process from ending. */
  unref(): void;
  on(event: "error" | "end", listener: (error?: Error) => void): void;
  on(event: "notification", listener: (message: { readonly payload?: string }) => void): void;
  on(event: "notice", listener: (notice: { readonly message?: string }) => void): void;
}

interface Query {
  readonly text: string;
  /** A statement with a name is prepared once per connection. */
  readonly name?: string;
  readonly values?: readonly Value[];
  readonly rowMode?: "array";
  readonly types?: { getTypeParser(oid: number, format?: string): (text: string) => unknown };
}

/** A buffer is sent as it is, in Postgres's binary form. */
export type Value = string | number | boolean | Buffer | null;

export function driver(): Driver {
  try {
    return createRequire(import.meta.url)("pg");
  } catch (cause) {
    throw new FaultError(fault("STORE_UNUSABLE", "the Postgres store needs the package pg; run: npm install pg"), {
      cause,
    });
  }
}
