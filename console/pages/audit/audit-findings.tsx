import type { VNode } from "preact";
import type { AuditReport } from "../../../src/engine/api/engine-api.ts";
import { RunLink } from "../../components/run-link.tsx";
import { SafeText } from "../../components/safe-text.tsx";

/** The findings of an audit: none, or every difference by its place. */
export function AuditFindings({ report: { broken, rows, tallies } }: { readonly report: AuditReport }): VNode {
  if (broken.length + rows.length + tallies.length === 0)
    return <p class="note note-good">The record is unchanged and complete: every row follows from the events.</p>;
  return (
    <div class="note note-danger" role="alert">
      <p>The record is not what was written. Restore these runs from a backup before anything continues.</p>
      <ul>
        {broken.map(({ run_id, position, what }) => (
          <li key={run_id}>
            <RunLink run_id={run_id} /> event {position}: <SafeText text={what} />
          </li>
        ))}
        {rows.map(({ table, key, what }) => (
          <li key={`${table} ${key}`}>
            row <SafeText text={`${table} ${key}`} />: <SafeText text={what} />
          </li>
        ))}
        {tallies.map(({ tally, used, charged }) => (
          <li key={tally}>
            sum <SafeText text={tally} />: {used} is stored, the events add up to {charged}
          </li>
        ))}
      </ul>
    </div>
  );
}
