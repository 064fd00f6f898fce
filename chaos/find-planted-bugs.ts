import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildMutant } from "../crash/mutants.ts";
import { plantedSqliteChaos } from "./chaos-presets.ts";
import { chaosFigures } from "./chaos-report.ts";
import { type PlantedSqliteBug, plantedSqliteBugs } from "./planted-sqlite-bugs.ts";
import { runChaos } from "./run-chaos.ts";

/** How often the test looks for a bug. It depends on the moments of the faults. */
const ROUNDS_MAX = 5;

/** Returns the planted bugs that the test does not find. */
export async function findMissedBugs(seed: number, log: (line: string) => void): Promise<readonly string[]> {
  const missed: string[] = [];
  for (const planted of plantedSqliteBugs) {
    const rounds = await roundsToFind(planted, seed);
    log(rounds === null ? `not found: ${planted.bug}` : `found in round ${rounds}: ${planted.bug}`);
    if (rounds === null) missed.push(planted.bug);
  }
  return missed;
}

/** Returns the round in which the test finds the bug; null: none. */
export async function roundsToFind(planted: PlantedSqliteBug, seed: number): Promise<number | null> {
  const { patches, chaos = plantedSqliteChaos, shows } = planted;
  const folder = mkdtempSync(join(tmpdir(), "writ-chaos-bug-"));
  try {
    const dist = buildMutant(folder, patches);
    for (let round = 1; round <= ROUNDS_MAX; round += 1) {
      const figures = chaosFigures(await runChaos({ ...chaos, seed: seed + round, dist, log: () => {} }));
      if (shows.some((name) => figures[name] > 0)) return round;
    }
    return null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
