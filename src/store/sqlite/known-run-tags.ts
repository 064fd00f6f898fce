import type { Tenant } from "../../core/values/ids.ts";
import type { DataVersion } from "./data-version.ts";

/** The number of runs above which all tags are forgotten. */
const REMEMBERED_MAX = 1000;

/**
 * The tags of the run rows that this connection wrote. They count while no other connection has written since, so that
 * a row is not read and parsed again to learn its tags.
 */
export class KnownRunTags {
  readonly #version: DataVersion;
  readonly #known = new Map<Tenant, Map<string, readonly string[]>>();
  #dataVersion: number | null = null;
  #size = 0;

  constructor(version: DataVersion) {
    this.#version = version;
  }

  /** Returns the tags of the row of a run, inside a transaction. Null: they must be read. */
  of(tenant: Tenant, run: string): readonly string[] | null {
    this.#forgetOutdated();
    return this.#known.get(tenant)?.get(run) ?? null;
  }

  /** Called inside the transaction that writes the row. */
  remember(tenant: Tenant, run: string, tags: readonly string[]): void {
    this.#forgetOutdated();
    const own = this.#known.get(tenant) ?? new Map<string, readonly string[]>();
    this.#known.set(tenant, own.set(run, tags));
    this.#size += 1;
  }

  #forgetOutdated(): void {
    const dataVersion = this.#version.get();
    if (dataVersion !== this.#dataVersion || this.#size >= REMEMBERED_MAX) this.forgetAll();
    this.#dataVersion = dataVersion;
  }

  /** Called when a transaction was undone. */
  forgetAll(): void {
    this.#known.clear();
    this.#size = 0;
  }
}
