import { type CrashFinding, checkRun, checkStore } from "./check-run.ts";
import type { ChildReport } from "./child-task.ts";
import type { Scenario } from "./scenario.ts";
import { type ScenarioName, scenarios } from "./scenarios.ts";
import { worldFile } from "./store-files.ts";
import { readReports, readWorldEntries } from "./world-log.ts";

/** Returns the findings about a folder after its last process: about each scenario and about the store. */
export function checkFolder(
  folder: string,
  scenarioNames: readonly ScenarioName[],
  report: ChildReport,
  kills: number,
): readonly CrashFinding[] {
  const world = worldFile(folder);
  const entries = readWorldEntries(world);
  const runs = scenarioNames.map((name) => ({
    name,
    scenario: scenarios[name] as Scenario,
    reported: readReports(world, name),
  }));
  return [...runs.flatMap((run) => checkRun({ ...run, report, entries, kills })), ...checkStore(report, entries)];
}

/** True if an act is still in doubt. */
export function hasActInDoubt(report: ChildReport | null): boolean {
  const runs = Object.values(report?.recovered.runs ?? {});
  return runs.some(({ result }) => Object.values(result.steps).some(({ state }) => state === "in_doubt"));
}
