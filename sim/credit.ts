import type { Tenant } from "../src/core/id.ts";

/** What was earned, added up from what events say, and what each worker was told of it. */
export class Credit {
  readonly #earned = new Map<string, number>();
  readonly #told = new Map<string, Set<number>>();

  add(tenant: Tenant, tally: string, amount: number): void {
    this.#earned.set(`${tenant} ${tally}`, this.earned(tenant, tally) + amount);
  }

  earned(tenant: Tenant, tally: string): number {
    return this.#earned.get(`${tenant} ${tally}`) ?? 0;
  }

  /** A worker has looked it up. */
  tell(worker: number, tenant: Tenant, tally: string, value: number): void {
    const name = `${worker} ${tenant} ${tally}`;
    const known = this.#told.get(name);
    if (known === undefined) this.#told.set(name, new Set([value]));
    else known.add(value);
  }

  toldTo(worker: number, tenant: Tenant, tally: string): ReadonlySet<number> {
    return this.#told.get(`${worker} ${tenant} ${tally}`) ?? NOTHING;
  }
}

const NOTHING: ReadonlySet<number> = new Set();
