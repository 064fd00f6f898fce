import { type Entry, ownerOf } from "../../core/store.ts";

/**
 * Entries of one call, cut where a later one meets something of an earlier one: a run, a row or a tally. What is left of a wave can
 * be judged in any order and still comes out as if each had waited for the one before.
 */
export function wavesOf(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const waves: Entry[][] = [];
  let met = new Set<string>();
  for (const entry of entries) {
    const touched = touchedBy(entry);
    const wave = waves.at(-1);
    if (wave === undefined || touched.some((name) => met.has(name))) {
      waves.push([entry]);
      met = new Set(touched);
    } else {
      wave.push(entry);
      for (const name of touched) met.add(name);
    }
  }
  return waves;
}

function touchedBy({ tenant, run, puts, checks, charges }: Entry): readonly string[] {
  return [
    `head\0${tenant}\0${run}`,
    ...puts.map(({ table, key }) => `${table}\0${tenant}\0${key}`),
    ...checks.map((check) => `${check.table}\0${ownerOf(tenant, check)}\0${check.key}`),
    ...charges.map(({ tally }) => `tally\0${tenant}\0${tally}`),
  ];
}
