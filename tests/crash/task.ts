import type { Kill } from "./killer.ts";
import type { Driven } from "./program.ts";
import type { ScenarioName } from "./scenarios.ts";

/** What a child is told to do, through its environment. */
export interface Task {
  /** The folder of the built package. */
  readonly dist: string;
  readonly scenario: ScenarioName;
  /** Where the store and the witness lie. */
  readonly folder: string;
  readonly kill: Kill | null;
  /** Count every statement that writes as a point, too. */
  readonly sql?: boolean;
}

/** What a child that lived has to say. */
export interface Report {
  readonly rest: Driven;
  /** The same after one more start on the same file. */
  readonly again: Driven;
  /** How many deeds the world had seen before that start. */
  readonly deeds: number;
  readonly passed: readonly Kill[];
}

/** What a child prints first: from here on it does something. */
export const READY = "ready\n";
