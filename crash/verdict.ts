import { type Finding, judge, judgeStore } from "./judge.ts";
import type { Scenario } from "./scenario.ts";
import { type ScenarioName, scenarios } from "./scenarios.ts";
import { worldFile } from "./store-files.ts";
import type { Report } from "./task.ts";
import { deedsIn, toldIn } from "./witness.ts";

/** All that is wrong with a folder after its last process: every story in it, and the store that holds them. */
export function verdictOn(
  folder: string,
  cast: readonly ScenarioName[],
  report: Report,
  kills: number,
): readonly Finding[] {
  const world = worldFile(folder);
  const deeds = deedsIn(world);
  const stories = cast.map((name) => ({ name, scenario: scenarios[name] as Scenario, told: toldIn(world, name) }));
  return [...stories.flatMap((story) => judge({ ...story, report, deeds, kills })), ...judgeStore(report, deeds)];
}

/** Whether an act is left that nobody could settle. */
export function isDoubted(report: Report | null): boolean {
  const runs = Object.values(report?.rest.runs ?? {});
  return runs.some(({ result }) => Object.values(result.steps).some(({ state }) => state === "in_doubt"));
}
