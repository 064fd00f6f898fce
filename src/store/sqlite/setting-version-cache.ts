import type { Tenant } from "../../core/values/ids.ts";
import type { DataVersion } from "./data-version.ts";
import type { SqliteStatements } from "./statements.ts";

const REMEMBERED_MAX = 1000;

/**
 * The versions of setting rows, which the append that starts an act checks. A version that was read in an earlier
 * transaction counts while no connection has written a setting since.
 */
export class SettingVersionCache {
  readonly #statements: SqliteStatements;
  readonly #version: DataVersion;
  readonly #known = new Map<Tenant, Map<string, number | null>>();
  #dataVersion: number | null = null;
  #size = 0;

  constructor(statements: SqliteStatements, version: DataVersion) {
    this.#statements = statements;
    this.#version = version;
  }

  /** Returns the version of a row inside a transaction. Null: there is no row. */
  of(tenant: Tenant, key: string): number | null {
    const dataVersion = this.#version.get();
    if (dataVersion !== this.#dataVersion || this.#size >= REMEMBERED_MAX) this.forget();
    this.#dataVersion = dataVersion;
    const known = this.#known.get(tenant)?.get(key);
    return known === undefined ? this.#readAndRemember(tenant, key) : known;
  }

  /** Called when this connection writes a setting, or undoes a transaction. */
  forget(): void {
    this.#known.clear();
    this.#size = 0;
  }

  #readAndRemember(tenant: Tenant, key: string): number | null {
    const version = this.#statements.findRow(tenant, "setting", key)?.version ?? null;
    const own = this.#known.get(tenant) ?? new Map<string, number | null>();
    this.#known.set(tenant, own.set(key, version));
    this.#size += 1;
    return version;
  }
}
