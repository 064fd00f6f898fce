import { rmSync } from "node:fs";
import { Rng } from "../sim/rng.ts";
import { type Cell, type Outcome, placeOf } from "./cell.ts";
import type { Kill } from "./killer.ts";
import type { Chance } from "./life.ts";
import { type ScenarioName, scenarios } from "./scenarios.ts";
import { judged, type Stage } from "./stage.ts";

/** Chance in [0, 1). */
type Dice = () => number;

/** Which of the stores of a seed is struck. Every other one loses its power, too. */
export interface Shift {
  readonly seed: number;
  readonly number: number;
}

/** By the clock a seed strikes at about the same moment only: where it struck is told, too. */
export function shiftName({ seed, number }: Shift, { cell }: Outcome): string {
  return `chance:${number} of seed ${seed}, killed at ${cell.kills.map(placeOf).join(",") || "no place"}`;
}

/** A gate that expires soon is for one store only: the limit is the engine's. */
const cast = (Object.keys(scenarios) as ScenarioName[]).filter((name) => name !== "expired");

/** So often is one store struck at most, before it is left alone. */
const strikesMost = 12;

/**
 * All stories at once on one store, and a process that dies again and again at moments nobody has chosen, until one lives
 * to see everything at rest.
 */
export async function shift(stage: Stage, { seed, number }: Shift): Promise<Outcome> {
  const rng = new Rng(seed + number);
  const dice: Dice = () => rng.float();
  const power = number % 2 === 1;
  const folder = stage.newFolder();
  const kills: (Kill | Chance)[] = [];
  for (;;) {
    const kill = kills.length < strikesMost ? anyMoment(dice) : null;
    const [place, chance] = kill !== null && "point" in kill ? [kill, null] : [null, kill];
    const life = await stage.lives({ cast, kills, power }, folder, kills.length, place, chance);
    if (life.signal === "SIGKILL" && !life.stuck && kill !== null) {
      kills.push(kill);
      continue;
    }
    const cell: Cell = { cast, kills, power };
    const outcome = await judged(cell, folder, kills.length, life);
    rmSync(folder, { recursive: true });
    return outcome;
  }
}

/** Half of the kills strike at a write, wherever the process is then; the others whenever they happen to come. */
function anyMoment(dice: Dice): Kill | Chance {
  if (dice() < 0.5) return { point: "sql", nth: 1 + Math.floor(dice() ** 2 * writesMost) };
  if (dice() < 0.1) return { afterMs: dice() * startMs, early: true };
  return { afterMs: dice() ** 2 * workMs, early: false };
}

/** About as many writes as all stories take together, so long as a start takes, and the work. */
const writesMost = 400;
const startMs = 150;
const workMs = 250;
