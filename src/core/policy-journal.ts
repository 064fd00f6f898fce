import type { Instant, RunId } from "./id.ts";
import type { JsonObject } from "./json/json.ts";
import type { PolicyRow } from "./rows.ts";
import type { Put } from "./store.ts";

/** What is written into the journal of a tenant's policies. */
export type PolicyEvent = { readonly at: Instant; readonly by: string } & (
  | { readonly type: "policy.set"; readonly place: string; readonly document: JsonObject }
  | { readonly type: "policy.removed"; readonly place: string }
);

/** A tenant's policies after one more fact. The latest of a place counts, and keeps its turn. */
export function evolvePolicies(row: PolicyRow, event: PolicyEvent, position: number): PolicyRow {
  const others = row.policies.filter(({ place }) => place !== event.place);
  if (event.type === "policy.removed") return { policies: others };
  const { place } = event;
  const isNew = others.length === row.policies.length;
  if (isNew) return { policies: [...others, { place, position }] };
  return { policies: row.policies.map((each) => (each.place === place ? { place, position } : each)) };
}

export const noPolicies: PolicyRow = { policies: [] };

/** The row of a tenant's policies: every fact is a version of it, so that whoever decided by another one is told. */
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
