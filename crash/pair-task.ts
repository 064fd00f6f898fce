import type { KillPoint } from "./killer.ts";
import type { Scenario } from "./scenario.ts";
import { type ScenarioName, scenarios } from "./scenarios.ts";

/** The first process of a pair holds the run; the second one joins while a tool of the first is called. */
export type PairMember = "first" | "second";

/** The task of one process of a pair, passed in its environment. */
export interface PairTask {
  readonly scenario: ScenarioName;
  readonly folder: string;
  readonly member: PairMember;
  readonly kill: KillPoint | null;
}

/** True if the first process cannot complete the run, and hands it over to the second one. */
export function isHandedOver(name: ScenarioName): boolean {
  const scenario: Scenario = scenarios[name];
  return scenario.isHandedOver === true;
}

/** The output of the first process before it waits for the second one. */
export const FIRST_HOLDS = "holds\n";

/** The entry of the world log that ends this wait. */
export const secondJoined = { did: "join", to: "the store" } as const;

/** The name under which a pair writes to the world log. */
export const PAIR_WORLD = "pair";
