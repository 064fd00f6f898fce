import type { AuditReport } from "../../api/engine-api.ts";

/** Returns the problems that an audit found, each as a sentence part. */
export function auditFindings({ broken, rows, tallies }: Pick<AuditReport, "broken" | "rows" | "tallies">) {
  return [
    ...broken.map(({ run_id, position, what }) => `${run_id} at ${position}: ${what}`),
    ...rows.map(({ table, key, what }) => `the ${table} row ${key}: ${what}`),
    ...tallies.map(({ tally, used, charged }) => `the tally ${tally} is ${used}, its events charged ${charged}`),
  ];
}
