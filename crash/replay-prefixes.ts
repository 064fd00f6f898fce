import { rmSync } from "node:fs";
import type { CellRunner } from "./cell-runner.ts";
import type { CrashFinding } from "./check-run.ts";
import type { KillPoint } from "./killer.ts";
import type { ScenarioName } from "./scenarios.ts";
import { waitForExit } from "./wait-for-exit.ts";

export interface ReplayTask {
  readonly scenario: ScenarioName;
  /** The folder of the store and the world log at the start of the recording. */
  readonly folder: string;
  /** The number of earlier kills. */
  readonly kills: number;
  /** 1: every prefix; n: every nth. */
  readonly every: number;
  readonly stuckMs: number;
}

/** The result of restarting from every state of a recording. */
export interface ReplayResult {
  readonly writes: number;
  readonly syncs: number;
  readonly prefixes: number;
  readonly in_doubt: number;
  readonly findings: readonly { readonly name: string; readonly findings: readonly CrashFinding[] }[];
}

/** Records the first process of a scenario, or the one after a kill, and restarts from every prefix of its writes. */
export async function replayPrefixes(
  runner: CellRunner,
  scenario: ScenarioName,
  after: KillPoint | null,
  every = 1,
): Promise<ReplayResult> {
  const folder = runner.newFolder();
  if (after !== null)
    await runner.runChild({ scenarioNames: [scenario], folder, kill: after, power: false, boot: "boot 1" });
  const task: ReplayTask = { scenario, folder, kills: after === null ? 0 : 1, every, stuckMs: runner.stuckMs };
  const child = runner.start([runner.program("replayer")], { WRIT_CRASH_TASK: JSON.stringify(task) });
  const { code, stdout, stderr } = await waitForExit(child, replayTimeoutMs);
  rmSync(folder, { recursive: true });
  if (code !== 0) throw new Error(`the replay of ${scenario} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as ReplayResult;
}

/** Hundreds of restarts in one process take a while. */
const replayTimeoutMs = 1_200_000;
