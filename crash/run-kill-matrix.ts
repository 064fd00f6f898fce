import type { Cell, CellOutcome } from "./cell.ts";
import type { CellRunner } from "./cell-runner.ts";
import type { KillPoint } from "./killer.ts";
import { mapConcurrently } from "./map-concurrently.ts";
import { addOutcome, type PartTotals } from "./part-totals.ts";
import type { ScenarioName } from "./scenarios.ts";

export interface KillSelection {
  /** Selects the kill points of the first process. */
  first(kill: KillPoint): boolean;
  /** Selects the kill points of the second process, after the first was killed at `after`. */
  next(kill: KillPoint, after: KillPoint): boolean;
  readonly power?: boolean;
}

/** Runs a scenario once without kills, and then kills it at every selected point that it passed. */
export async function runKillMatrix(
  runner: CellRunner,
  scenario: ScenarioName,
  selection: KillSelection,
  totals: PartTotals,
): Promise<void> {
  const { power = false } = selection;
  const run = async (cell: Cell): Promise<CellOutcome> => {
    const outcome = await runner.run(cell);
    addOutcome(totals, outcome);
    return outcome;
  };
  const undisturbed = await run({ scenarioNames: [scenario], kills: [], power });
  const points = (undisturbed.report?.passed ?? []).filter(selection.first);
  const killed = await mapConcurrently(points, (kill) => run({ scenarioNames: [scenario], kills: [kill], power }));
  const secondKills = killed.flatMap(({ cell, report }) => {
    const [after] = cell.kills as [KillPoint];
    const next = (report?.passed ?? []).filter((kill) => selection.next(kill, after));
    return next.map((kill): Cell => ({ scenarioNames: [scenario], kills: [after, kill], power }));
  });
  await mapConcurrently(secondKills, run);
}
