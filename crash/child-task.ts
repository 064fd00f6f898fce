import type { KillPoint } from "./killer.ts";
import type { FinalStore } from "./run-user-program.ts";
import type { ScenarioName } from "./scenarios.ts";

/** The task of a child process, passed in its environment. */
export interface ChildTask {
  readonly scenarioNames: readonly ScenarioName[];
  /** The folder of the store and the world log. */
  readonly folder: string;
  readonly kill: KillPoint | null;
  /** True: save a copy of the synced file, for a power cut. */
  readonly power: boolean;
  /** The boot id of the machine. */
  readonly boot: string;
}

/** The report of a child that was not killed. */
export interface ChildReport {
  /** The store after the recovery. */
  readonly recovered: FinalStore;
  /** The store after one more start. */
  readonly restarted: FinalStore;
  /** The number of world entries before that start. */
  readonly entries: number;
  /** Rows that should not remain in the store. */
  readonly leftovers: readonly string[];
  readonly passed: readonly KillPoint[];
}

/** The first output of a child, printed before it opens runs. */
export const CHILD_READY = "ready\n";
