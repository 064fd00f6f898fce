import type { Instant } from "../id.ts";
import type { Unit } from "./budget.ts";

/** Percents of a budget; somebody is told when each is used up. */
const alertLevels = [80, 90, 100] as const;
export type AlertLevel = (typeof alertLevels)[number];

/** That so much of a budget is used up. */
export interface Alert {
  readonly tally: string;
  readonly level: AlertLevel;
  readonly unit: Unit;
  readonly per: string;
  /** Null: whatever is called, or what the rule is for. */
  readonly tool: string | null;
  /** The rule of a policy that says so; null: a setting. */
  readonly rule: string | null;
  readonly limit: number;
  readonly used: number;
  /** Null: it never counts anew. */
  readonly window_ends: Instant | null;
}

export function levelsReached(used: number, most: number): readonly AlertLevel[] {
  return alertLevels.filter((level) => used * 100 >= most * level);
}

/** One is told once: whoever charges this first. A limit that was changed meanwhile is another one. */
export function alertTally({ tally, level, limit }: Alert): string {
  return `alert/${level}/${limit}/${tally}`;
}
