import type { Tenant } from "../../core/id.ts";
import type { Charged } from "../../core/limits/charged.ts";
import type { Store } from "../../core/store.ts";
import type { AuditReport } from "../api.ts";
import { talliesIn } from "../listing.ts";

type Used = ReadonlyMap<string, number>;

/**
 * Compares a tenant's tallies with what its events have charged. Work may go on meanwhile, so that the sum lies somewhere
 * between what was used before and what is used after; where nobody works, both are the same.
 */
export class TallyAudit {
  readonly #store: Store;
  readonly #tenant: Tenant;
  readonly #before: Used;
  readonly #charged = new Map<string, number>();
  /** Every charge could be read. */
  #whole = true;

  private constructor(store: Store, tenant: Tenant, before: Used) {
    this.#store = store;
    this.#tenant = tenant;
    this.#before = before;
  }

  static async begin(store: Store, tenant: Tenant): Promise<TallyAudit> {
    return new TallyAudit(store, tenant, await usedBy(store, tenant));
  }

  /** What one run has charged; not `whole` if some of its events were erased or cannot be believed. */
  add(charges: readonly Charged[], whole: boolean): void {
    for (const { tally, amount } of charges) this.#charged.set(tally, (this.#charged.get(tally) ?? 0) + amount);
    this.#whole &&= whole;
  }

  /** The tallies that are not the sum of what was charged. */
  async end(): Promise<AuditReport["tallies"]> {
    const after = await usedBy(this.#store, this.#tenant);
    const wrong: AuditReport["tallies"][number][] = [];
    for (const tally of new Set([...this.#charged.keys(), ...after.keys(), ...this.#before.keys()])) {
      const charged = this.#charged.get(tally) ?? 0;
      const used = after.get(tally) ?? 0;
      const least = this.#whole ? (this.#before.get(tally) ?? 0) : 0;
      if (charged < least || charged > used) wrong.push({ tally, used, charged });
    }
    return wrong;
  }
}

async function usedBy(store: Store, tenant: Tenant): Promise<Used> {
  const used = new Map<string, number>();
  for await (const tally of talliesIn(store, tenant)) used.set(tally.tally, tally.used);
  return used;
}
