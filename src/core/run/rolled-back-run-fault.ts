import { type Fault, fault } from "../values/fault.ts";
import type { Run } from "./run.ts";

/** Returns why a run is neither resumed nor continued by another run: its plan is atomic and was rolled back. Null: it was not. */
export function rolledBackRunFault({ id, rollback, ended }: Run): Fault | null {
  if (rollback === null) return null;
  const what = ended === null ? "is being rolled back" : "was rolled back";
  return fault(
    "NOT_POSSIBLE",
    `run ${id} ${what}: its plan is atomic and has aborted; submit the plan as a new request`,
  );
}
