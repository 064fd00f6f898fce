import { checkedTenant, type Entry } from "../../core/store/store.ts";

/**
 * Splits the entries of one call into groups. An entry that touches a run, row or tally of its group starts the next
 * group. So the entries of a group can be checked in any order with the same results as one after the other.
 */
export function splitByConflict(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const groups: Entry[][] = [];
  let groupNames = new Set<string>();
  for (const entry of entries) {
    const touched = touchedNames(entry);
    const group = groups.at(-1);
    if (group === undefined || touched.some((name) => groupNames.has(name))) {
      groups.push([entry]);
      groupNames = new Set(touched);
    } else {
      group.push(entry);
      for (const name of touched) groupNames.add(name);
    }
  }
  return groups;
}

function touchedNames({ tenant, run, puts, checks, charges }: Entry): readonly string[] {
  return [
    `head\0${tenant}\0${run}`,
    ...puts.map(({ table, key }) => `${table}\0${tenant}\0${key}`),
    ...checks.map((check) => `${check.table}\0${checkedTenant(tenant, check)}\0${check.key}`),
    ...charges.map(({ tally }) => `tally\0${tenant}\0${tally}`),
  ];
}
