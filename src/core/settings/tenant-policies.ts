import type { Put } from "../store/store.ts";
import type { PolicyRow } from "../store/tables.ts";
import type { HeldIn } from "../values/held-in.ts";
import type { Instant, RunId } from "../values/ids.ts";
import type { JsonObject } from "../values/json.ts";

/** An event in the journal of a tenant's policies. */
export type PolicyEvent = { readonly at: Instant; readonly by: string; readonly reason?: string } & HeldIn &
  (
    | { readonly type: "policy.set"; readonly place: string; readonly document: JsonObject }
    | { readonly type: "policy.removed"; readonly place: string }
  );

/**
 * Returns the policies after an event. A new document for a place replaces the old one and keeps its position in the
 * list.
 */
export function evolvePolicies(row: PolicyRow, event: PolicyEvent, position: number): PolicyRow {
  const others = row.policies.filter(({ place }) => place !== event.place);
  if (event.type === "policy.removed") return { policies: others };
  const { place } = event;
  const isNew = others.length === row.policies.length;
  if (isNew) return { policies: [...others, { place, position }] };
  return { policies: row.policies.map((each) => (each.place === place ? { place, position } : each)) };
}

export const noPolicies: PolicyRow = { policies: [] };

/** Returns the row of a tenant's policies. Each event is a version of it, so that a check of an older version fails. */
export function policyPut(journal: RunId, row: PolicyRow, position: number): Put {
  const was = position === 1 ? null : position - 1;
  return { table: "setting", key: journal, was, row: JSON.stringify(row) };
}

export function policyPuts(journal: RunId, events: readonly PolicyEvent[]): readonly Put[] {
  let row = noPolicies;
  return events.map((event, index) => {
    row = evolvePolicies(row, event, index + 1);
    return policyPut(journal, row, index + 1);
  });
}
