import { sharedTenant } from "../../core/store/store.ts";
import type { Tenant } from "../../core/values/ids.ts";
import { connectOrFault } from "./open-database.ts";
import type { SqliteDatabase } from "./sqlite-driver.ts";

/** One index seek per tenant, so the cost does not follow the number of runs. */
const tenantQuery = `
  with recursive found (tenant) as (
    select min(tenant) from head
    union all
    select (select min(tenant) from head where tenant > found.tenant) from found where found.tenant is not null
  )
  select tenant from found where tenant is not null`;

/** The number of names that a person reads. */
const LISTED_MAX = 20;

/** Returns every tenant with a journal, also the owner of rows that apply to all tenants. */
export function readTenants(db: SqliteDatabase): readonly Tenant[] {
  const rows = db.prepare(tenantQuery).all() as readonly { readonly tenant: Tenant }[];
  return rows.map(({ tenant }) => tenant);
}

/**
 * Returns the names of the first tenants with a journal in the file of a store. A principal sees one tenant; this is
 * for a person who has the file, and so all of it.
 */
export function listTenants(file: string): readonly string[] {
  const db = connectOrFault(file);
  try {
    return readTenants(db)
      .filter((tenant) => tenant !== sharedTenant)
      .slice(0, LISTED_MAX);
  } finally {
    db.close();
  }
}
