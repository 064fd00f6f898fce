import type { Finding } from "./judge.ts";
import type { Kill } from "./killer.ts";
import type { Chance } from "./life.ts";
import type { ScenarioName } from "./scenarios.ts";
import type { Report } from "./task.ts";

/** One place to die, or several, one after the other: each process but the last is killed. */
export interface Cell {
  /** Whose stories are played on the one store. */
  readonly cast: readonly ScenarioName[];
  readonly kills: readonly (Kill | Chance)[];
  /** With every kill the power goes, too. */
  readonly power?: boolean;
}

export interface Outcome {
  readonly cell: Cell;
  /** How many of the kills struck; the others were never reached. */
  readonly kills: number;
  readonly findings: readonly Finding[];
  /** Null where the last process had nothing to report. */
  readonly report: Report | null;
  /** How often the world saw each act of the first story, by step. */
  readonly counts: Readonly<Record<string, number>>;
}

/** A cell as it is asked for on the command line: `kill:opaque@tool.after#1`. */
export function nameOf({ cast, kills, power = false }: Cell): string {
  const places = kills.map(placeOf).join(",");
  return `${power ? "power" : "kill"}:${cast.join("+")}${places === "" ? "" : `@${places}`}`;
}

export function placeOf(kill: Kill | Chance): string {
  if ("point" in kill) return `${kill.point}#${kill.nth}${kill.fault === undefined ? "" : `!${kill.fault}`}`;
  return `${kill.early ? "start+" : ""}${kill.afterMs.toFixed(3)}ms`;
}
