import type { CommandOf } from "../../core/decide/command.ts";
import type { StepEvent } from "../../core/event/event.ts";
import { findStep, type Run } from "../../core/run/run.ts";
import type { AppendResult } from "../../core/store/store.ts";
import type { LedgerRow } from "../../core/store/tables.ts";
import type { Instant } from "../../core/values/ids.ts";
import type { Batch } from "./batch.ts";

/** Returns the command that records that a later act owns the ledger row of a refused batch. Null: none does. */
export function findSupersededAct(
  run: Run,
  { events }: Batch,
  { table, key, found }: Extract<AppendResult, { why: "row" | "check" }>,
  now: Instant,
): CommandOf<"supersede"> | null {
  const writes = events.filter((event) => "ledger" in event && event.type !== "step.started");
  const step = writes
    .map((event) => findStep(run, (event as StepEvent).step_id))
    .find((written) => written?.call?.key === key);
  if (table !== "ledger" || found === null || step?.act == null) return null;
  const row = JSON.parse(found.row) as LedgerRow;
  if (row.generation <= step.act.generation) return null;
  const by = { run: row.run_id, step: row.step_id, generation: row.generation };
  return { type: "supersede", now, step_id: step.spec.step_id, by };
}
