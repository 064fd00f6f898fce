import type { Cell } from "./cell.ts";
import type { CellRunner } from "./cell-runner.ts";
import type { KillPoint } from "./killer.ts";
import { mapConcurrently } from "./map-concurrently.ts";
import { addFindings, addOutcome, type PartTotals } from "./part-totals.ts";

/** Kills three processes in a row at the same step. */
const threeKills: readonly KillPoint[] = [1, 2, 3].map(() => ({ point: "tool.called", nth: 1 }));

/** Kill points of the process that parks the run. */
export const parkingKillPoints: readonly KillPoint[] = [
  "recover.before",
  "recover.after",
  "notice.before",
  "notice.after",
  "told",
].map((point) => ({ point, nth: 1 }));

/** A run that killed three processes is parked by the fourth, even if that one is killed, and a person resumes it. */
export async function killUntilParked(
  runner: CellRunner,
  also: readonly KillPoint[],
  totals: PartTotals,
): Promise<void> {
  const cells = [[], ...also.map((kill) => [kill])].map(
    (more): Cell => ({ scenarioNames: ["poisonous"], kills: [...threeKills, ...more] }),
  );
  await mapConcurrently(cells, async (cell) => {
    const outcome = await runner.run(cell);
    addOutcome(totals, outcome);
    const events = outcome.report?.recovered.runs.poisonous?.events ?? [];
    if (events.filter((event) => event.startsWith("run.poisoned")).length !== 1)
      addFindings(totals, "poison", [
        { kind: "untrue", what: "three processes died, but the run was not parked exactly once" },
      ]);
  });
}
