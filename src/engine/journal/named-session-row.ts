import { closedSessionFault } from "../../core/settings/named-session.ts";
import type { Store } from "../../core/store/store.ts";
import type { NamedSessionRow } from "../../core/store/tables.ts";
import type { Fault } from "../../core/values/fault.ts";
import type { Tenant } from "../../core/values/ids.ts";
import { namedSessionJournal } from "./journal-names.ts";

/** Reads the row of a session. Null: it was never opened by name. */
export async function readNamedSession(
  store: Store,
  tenant: Tenant,
  project: string | null,
  session: string,
): Promise<NamedSessionRow | null> {
  const stored = await store.row(tenant, "setting", namedSessionJournal(project, session));
  return stored === null ? null : (JSON.parse(stored.row) as NamedSessionRow);
}

/** Returns why a new run cannot be in its session, or null. */
export async function sessionFault(
  store: Store,
  tenant: Tenant,
  { project = null, session }: { readonly project?: string | null; readonly session?: string | null },
): Promise<Fault | null> {
  if (session === undefined || session === null) return null;
  const row = await readNamedSession(store, tenant, project, session);
  return closedSessionFault(session, row?.closed ?? null);
}
