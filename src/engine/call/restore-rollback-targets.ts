import type { RevertReport } from "../../core/ports/revert-report.ts";
import { changesToRollBack } from "../../core/run/changes-to-roll-back.ts";
import type { Run } from "../../core/run/run.ts";
import type { Json } from "../../core/values/json.ts";
import type { CallPorts } from "./call-ports.ts";
import type { CallResources } from "./call-resources.ts";

const NOTHING: RevertReport = { restored: 0, left: 0, places: [] };

/** Puts back what an atomic plan has written, and reports what it leaves. Both parts are committed with the step. */
export async function restoreRollbackTargets(
  { failpoint }: CallPorts,
  run: Run,
  { state, captured }: Pick<CallResources, "state" | "captured">,
): Promise<Json> {
  const { versions, captures } = changesToRollBack(run);
  const files = captured === null ? NOTHING : await captured.revert(captures);
  failpoint("rollback.after");
  const places = state === null ? NOTHING : await state.revert(versions);
  return { state: places, files } as unknown as Json;
}
