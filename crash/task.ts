import type { Kill } from "./killer.ts";
import type { Rested } from "./program.ts";
import type { ScenarioName } from "./scenarios.ts";

/** What a child is told to do, through its environment. */
export interface Task {
  readonly cast: readonly ScenarioName[];
  /** Where the store and the witness lie. */
  readonly folder: string;
  readonly kill: Kill | null;
  /** Keep a copy of the file as it is on the disk, for when the power is cut. */
  readonly power: boolean;
  /** Which start of the machine this is. */
  readonly boot: string;
}

/** What a child that lived has to say. */
export interface Report {
  readonly rest: Rested;
  /** The same after one more start on the same file. */
  readonly again: Rested;
  /** How many deeds the world had seen before that start. */
  readonly deeds: number;
  /** Leases and timers that nobody will ever need again. */
  readonly leftovers: readonly string[];
  readonly passed: readonly Kill[];
}

/** What a child prints first: from here on it does something. */
export const READY = "ready\n";
