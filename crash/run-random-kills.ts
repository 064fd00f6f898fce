import { rmSync } from "node:fs";
import { Rng } from "../sim/rng.ts";
import { type Cell, type CellOutcome, killName } from "./cell.ts";
import { type CellRunner, checkCell } from "./cell-runner.ts";
import type { KillPoint } from "./killer.ts";
import { type ScenarioName, scenarios } from "./scenarios.ts";
import type { TimedKill } from "./wait-for-exit.ts";

/** Returns a random number in [0, 1). */
type Random = () => number;

/** One store of a seed. Stores with an odd number also lose their power. */
export interface RandomKillCase {
  readonly seed: number;
  readonly number: number;
}

/** Names the seed and the kill points, because a kill by time does not repeat exactly. */
export function randomKillName({ seed, number }: RandomKillCase, { cell }: CellOutcome): string {
  return `chance:${number} of seed ${seed}, killed at ${cell.kills.map(killName).join(",") || "no place"}`;
}

/**
 * Without `expired` and `segmented`, whose limits would apply to every scenario on the store, and without the scenarios whose
 * policies and restores would reach the runs and files of others, or whose files they would reach. The run of `rehearsed`
 * has ended when it is accepted, so the retention of another scenario would erase it before it is read.
 */
const apart: readonly ScenarioName[] = [
  "expired",
  "heldBackup",
  "heldFork",
  "heldRestore",
  "heldUndo",
  "rehearsed",
  "rollback",
  "segmented",
  "snapshot",
  "watched",
];
const scenarioNames = (Object.keys(scenarios) as ScenarioName[]).filter((name) => !apart.includes(name));

/** The maximum number of kills per store. */
const MAX_KILLS = 12;

/**
 * Runs all scenarios at once on one store and kills the process at random moments, until one process completes all of
 * them.
 */
export async function runRandomKills(runner: CellRunner, { seed, number }: RandomKillCase): Promise<CellOutcome> {
  const rng = new Rng(seed + number);
  const random: Random = () => rng.float();
  const power = number % 2 === 1;
  const folder = runner.newFolder();
  const kills: (KillPoint | TimedKill)[] = [];
  for (;;) {
    const kill = kills.length < MAX_KILLS ? drawKill(random) : null;
    const [point, timedKill] = kill !== null && "point" in kill ? [kill, null] : [null, kill];
    const exit = await runner.runProcess({ scenarioNames, kills, power }, folder, kills.length, point, timedKill);
    if (exit.signal === "SIGKILL" && !exit.stuck && kill !== null) {
      kills.push(kill);
      continue;
    }
    const cell: Cell = { scenarioNames, kills, power };
    const outcome = await checkCell(cell, folder, kills.length, exit);
    rmSync(folder, { recursive: true });
    return outcome;
  }
}

/** Draws a kill: half of them at a write, half by time. */
function drawKill(random: Random): KillPoint | TimedKill {
  if (random() < 0.5) return { point: "sql", nth: 1 + Math.floor(random() ** 2 * MAX_WRITES) };
  if (random() < 0.1) return { afterMs: random() * startMs, early: true };
  return { afterMs: random() ** 2 * workMs, early: false };
}

/** About the number of writes of all scenarios, and the duration of a start and of the work. */
const MAX_WRITES = 400;
const startMs = 150;
const workMs = 250;
