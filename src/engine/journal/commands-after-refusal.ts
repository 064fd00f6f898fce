import type { Run } from "../../core/run/run.ts";
import type { AppendResult } from "../../core/store/store.ts";
import { ConditionFailedError } from "./append-errors.ts";
import type { Batch, QueuedCommand } from "./batch.ts";
import { findSupersededAct } from "./find-superseded-act.ts";
import type { JournalPorts } from "./journal-ports.ts";

/** Returns the commands to decide again after the store refused a row of their batch. Throws if their callers must decide. */
export async function commandsAfterRefusal(
  { projects, clock }: JournalPorts,
  run: Run,
  batch: Batch,
  landing: Extract<AppendResult, { why: "row" | "check" }>,
): Promise<readonly QueuedCommand[]> {
  const { commands } = batch;
  if (landing.table === "project") {
    await projects.refresh(run.tenant, landing.key); // Another call has published a version of the state.
    return commands;
  }
  const command = findSupersededAct(run, batch, landing, clock.now());
  if (command === null) throw new ConditionFailedError(landing);
  // A later act owns the ledger row, which is recorded first.
  return [{ make: () => command, mustLand: false, answer: () => {}, refuse: () => {} }, ...commands];
}
