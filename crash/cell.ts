import type { CrashFinding } from "./check-run.ts";
import type { ChildReport } from "./child-task.ts";
import type { KillPoint } from "./killer.ts";
import type { ScenarioName } from "./scenarios.ts";
import type { TimedKill } from "./wait-for-exit.ts";

/** A test case: scenarios, and points at which consecutive processes are killed. A last process runs to its end. */
export interface Cell {
  /** The scenarios that run on one store. */
  readonly scenarioNames: readonly ScenarioName[];
  readonly kills: readonly (KillPoint | TimedKill)[];
  /** True: every kill also cuts the power. */
  readonly power?: boolean;
}

export interface CellOutcome {
  readonly cell: Cell;
  /** The number of kills that happened; the points of the others were not reached. */
  readonly kills: number;
  readonly findings: readonly CrashFinding[];
  /** Null: the last process failed or hung. */
  readonly report: ChildReport | null;
  /** By step: how often the act of the first scenario happened. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Returns the name of a cell as the command line takes it: `kill:opaque@tool.after#1`. */
export function cellName({ scenarioNames, kills, power = false }: Cell): string {
  const places = kills.map(killName).join(",");
  return `${power ? "power" : "kill"}:${scenarioNames.join("+")}${places === "" ? "" : `@${places}`}`;
}

export function killName(kill: KillPoint | TimedKill): string {
  if ("point" in kill) return `${kill.point}#${kill.nth}${kill.fault === undefined ? "" : `!${kill.fault}`}`;
  return `${kill.early ? "start+" : ""}${kill.afterMs.toFixed(3)}ms`;
}
