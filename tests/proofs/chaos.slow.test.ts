import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { briefChaos, briefSqliteChaos, stoppedWorkerChaos } from "../../chaos/chaos-presets.ts";
import { chaosFailures, chaosFigures } from "../../chaos/chaos-report.ts";
import { startCleanupGuard } from "../../chaos/cleanup-guard.ts";
import { roundsToFind } from "../../chaos/find-planted-bugs.ts";
import { plantedSqliteBugs } from "../../chaos/planted-sqlite-bugs.ts";
import { runChaos } from "../../chaos/run-chaos.ts";
import { unfencedPostgres } from "../../chaos/unfenced-postgres.ts";
import { buildMutant } from "../../crash/mutants.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-chaos-test-"));
const quietly = { seed: 1, log: () => {} };

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("process guard", () => {
  it("kills remaining processes, stopped ones too, and removes its folder", async () => {
    const kept = mkdtempSync(join(folder, "kept-"));
    const guard = startCleanupGuard([kept]);
    const child = guard.keep(spawn("sleep", ["600"]));
    const ended = new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)));
    child.kill("SIGSTOP");
    await guard.end();
    expect(await ended).toBe("SIGKILL");
    expect(existsSync(kept)).toBe(false);
  });
});

describe("many workers on one Postgres under process, server and network failures", () => {
  it("perform no act twice, lose nothing and finish every run", async () => {
    const result = await runChaos({ ...briefChaos, ...quietly });
    console.log(JSON.stringify(chaosFigures(result)));
    expect(chaosFailures(result, briefChaos.least)).toEqual([]);
  }, 400_000);

  it("are caught when writes do not check the epoch", async () => {
    const dist = buildMutant(folder, unfencedPostgres());
    const result = await runChaos({ ...stoppedWorkerChaos, ...quietly, dist });
    const { duplicates, violations } = chaosFigures(result);
    expect(duplicates + violations).toBeGreaterThan(0);
  }, 400_000);
});

describe("many workers on one SQLite file under kills, stops, suspends, clock jumps and a full disk", () => {
  it("perform no act twice, lose nothing, finish every run, and no running worker is evicted", async () => {
    const result = await runChaos({ ...briefSqliteChaos, ...quietly });
    console.log(JSON.stringify(chaosFigures(result)));
    expect(chaosFailures(result, briefSqliteChaos.least)).toEqual([]);
  }, 400_000);

  it("are caught when writes do not check the epoch", async () => {
    const unfenced = plantedSqliteBugs.find(({ bug }) => bug === "writes do not check the epoch");
    expect(unfenced && (await roundsToFind(unfenced, 1))).not.toBe(null);
  }, 400_000);
});
