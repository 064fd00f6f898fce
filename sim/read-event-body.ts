import type { Tenant } from "../src/core/values/ids.ts";
import type { MemoryTables } from "../src/store/memory/memory-tables.ts";

/** Returns the body of an event; a long body is stored as a blob. */
export function readEventBody(tables: MemoryTables, tenant: Tenant, body: string): string {
  const named = body.startsWith('{"$blob":') ? (JSON.parse(body) as { readonly $blob: string }).$blob : null;
  return named === null ? body : Buffer.from(tables.blobs.get(tenant, named) ?? []).toString("utf8");
}
