import type { TallyCharge } from "../../../core/limits/tally-charge.ts";
import type { Store } from "../../../core/store/store.ts";
import type { Tenant } from "../../../core/values/ids.ts";
import type { AuditReport } from "../../api/engine-api.ts";
import { listTallies } from "../../journal/store-listing.ts";

type UsedTallies = ReadonlyMap<string, number>;

/**
 * Compares a tenant's tallies with the charges in its events. Calls may continue during the audit, so the sum must lie
 * between the tally before and the tally after.
 */
export class TallyAuditor {
  readonly #store: Store;
  readonly #tenant: Tenant;
  readonly #before: UsedTallies;
  readonly #charged = new Map<string, number>();
  /** True while every charge could be read. */
  #whole = true;

  private constructor(store: Store, tenant: Tenant, before: UsedTallies) {
    this.#store = store;
    this.#tenant = tenant;
    this.#before = before;
  }

  static async begin(store: Store, tenant: Tenant): Promise<TallyAuditor> {
    return new TallyAuditor(store, tenant, await readUsedTallies(store, tenant));
  }

  /** Adds the charges of one run. `whole` is false if some of its events were erased or are broken. */
  add(charges: readonly TallyCharge[], whole: boolean): void {
    for (const { tally, amount } of charges) this.#charged.set(tally, (this.#charged.get(tally) ?? 0) + amount);
    this.#whole &&= whole;
  }

  /** Returns the tallies that differ from the sum of the charges. */
  async end(): Promise<AuditReport["tallies"]> {
    const after = await readUsedTallies(this.#store, this.#tenant);
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

async function readUsedTallies(store: Store, tenant: Tenant): Promise<UsedTallies> {
  const used = new Map<string, number>();
  for await (const tally of listTallies(store, tenant)) used.set(tally.tally, tally.used);
  return used;
}
