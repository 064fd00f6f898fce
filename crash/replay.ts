import { rmSync } from "node:fs";
import type { Finding } from "./judge.ts";
import type { Kill } from "./killer.ts";
import { ended } from "./life.ts";
import type { ScenarioName } from "./scenarios.ts";
import type { Stage } from "./stage.ts";

export interface ReplayTask {
  readonly scenario: ScenarioName;
  /** Where the store and the witness lie that the taped life begins with. */
  readonly folder: string;
  /** How often a process died here before. */
  readonly kills: number;
  /** 1: every prefix; n: every nth. */
  readonly every: number;
  readonly stuckMs: number;
}

/** What came of all the states that one taped life can leave. */
export interface Replayed {
  readonly writes: number;
  readonly syncs: number;
  readonly prefixes: number;
  readonly in_doubt: number;
  readonly findings: readonly { readonly name: string; readonly findings: readonly Finding[] }[];
}

/** Tapes the first life of a scenario, or the one after a kill, and goes through every prefix of it. */
export async function replay(stage: Stage, scenario: ScenarioName, after: Kill | null, every = 1): Promise<Replayed> {
  const folder = stage.newFolder();
  if (after !== null) await stage.child({ cast: [scenario], folder, kill: after, power: false, boot: "boot 1" });
  const task: ReplayTask = { scenario, folder, kills: after === null ? 0 : 1, every, stuckMs: stage.stuckMs };
  const child = stage.start([stage.program("replayer")], { WRIT_CRASH_TASK: JSON.stringify(task) });
  const { code, stdout, stderr } = await ended(child, patienceMs);
  rmSync(folder, { recursive: true });
  if (code !== 0) throw new Error(`the replay of ${scenario} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Replayed;
}

/** Hundreds of restarts in one process take a while. */
const patienceMs = 1_200_000;
