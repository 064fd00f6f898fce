import type { Tenant } from "../src/core/values/ids.ts";

/** The earned trust as a sum over events, and the values that each worker has read. */
export class TrustModel {
  readonly #earned = new Map<string, number>();
  readonly #reads = new Map<string, Set<number>>();

  add(tenant: Tenant, tally: string, amount: number): void {
    this.#earned.set(`${tenant} ${tally}`, this.earned(tenant, tally) + amount);
  }

  earned(tenant: Tenant, tally: string): number {
    return this.#earned.get(`${tenant} ${tally}`) ?? 0;
  }

  /** Records a value that a worker has read. */
  addRead(worker: number, tenant: Tenant, tally: string, value: number): void {
    const name = `${worker} ${tenant} ${tally}`;
    const known = this.#reads.get(name);
    if (known === undefined) this.#reads.set(name, new Set([value]));
    else known.add(value);
  }

  readsOf(worker: number, tenant: Tenant, tally: string): ReadonlySet<number> {
    return this.#reads.get(`${worker} ${tenant} ${tally}`) ?? NO_VALUES;
  }
}

const NO_VALUES: ReadonlySet<number> = new Set();
