import type { CellOutcome } from "./cell.ts";
import type { CellRunner } from "./cell-runner.ts";
import type { CrashFinding } from "./check-run.ts";
import type { KillPoint } from "./killer.ts";
import { mapConcurrently } from "./map-concurrently.ts";
import { addFindings, type PartTotals } from "./part-totals.ts";
import type { ScenarioName } from "./scenarios.ts";

/** Makes the store fail at one point, or lose one answer, without a kill. The result must be the same as without it. */
export async function failOnce(
  runner: CellRunner,
  scenario: ScenarioName,
  isSelected: (point: KillPoint) => boolean,
  totals: PartTotals,
): Promise<void> {
  const undisturbed = await runner.run({ scenarioNames: [scenario], kills: [] });
  const points = (undisturbed.report?.passed ?? []).filter(isSelected).flatMap(faultsAtPoint);
  await mapConcurrently(points, async (point) => {
    const outcome = await runner.run({ scenarioNames: [scenario], kills: [point] });
    totals.faults += 1;
    const name = `fault:${scenario}@${point.point}#${point.nth}`;
    addFindings(totals, name, [...outcome.findings, ...statusFindings(undisturbed, outcome, scenario)]);
  });
}

/** An outcome that was known when the store failed is recorded, not doubted. */
function statusFindings(
  undisturbed: CellOutcome,
  { report }: CellOutcome,
  scenario: ScenarioName,
): readonly CrashFinding[] {
  const expected = undisturbed.report?.recovered.runs[scenario]?.result.status;
  const status = report?.recovered.runs[scenario]?.result.status;
  return status === expected ? [] : [{ kind: "untrue", what: `the run is ${status} instead of ${expected}` }];
}

function faultsAtPoint(point: KillPoint): readonly KillPoint[] {
  if (point.point === "append.landed") return [{ ...point, fault: "STORE_UNKNOWN" }];
  return /^(append|mark|claim|blob|release)\.asked$/.test(point.point) ? [{ ...point, fault: "STORE_FAILED" }] : [];
}
