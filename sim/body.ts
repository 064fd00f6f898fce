import type { Tenant } from "../src/core/id.ts";
import type { Tables } from "../src/store/memory/tables.ts";

/** The body of an event; where it is too long, it is kept beside the journal. */
export function bodyText(tables: Tables, tenant: Tenant, body: string): string {
  const named = body.startsWith('{"$blob":') ? (JSON.parse(body) as { readonly $blob: string }).$blob : null;
  return named === null ? body : Buffer.from(tables.blobs.get(tenant, named) ?? []).toString("utf8");
}
