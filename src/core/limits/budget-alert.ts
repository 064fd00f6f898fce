import type { Instant } from "../values/ids.ts";
import type { LimitUnit } from "./budget.ts";

/** The percentages of a budget at which an alert is sent. */
const alertLevels = [80, 90, 100] as const;
export type AlertLevel = (typeof alertLevels)[number];

/** A record that the use of a budget has reached a level. */
export interface BudgetAlert {
  readonly tally: string;
  readonly level: AlertLevel;
  readonly unit: LimitUnit;
  readonly per: string;
  /** Null: the budget counts all tools, or the tools of the rule. */
  readonly tool: string | null;
  /** The policy rule that sets the budget; null: a setting. */
  readonly rule: string | null;
  readonly limit: number;
  readonly used: number;
  /** Null: the budget never resets. */
  readonly window_ends: Instant | null;
}

export function alertLevelsReached(used: number, most: number): readonly AlertLevel[] {
  return alertLevels.filter((level) => used * 100 >= most * level);
}

/**
 * Returns the tally that makes an alert unique: the first append that charges it sends the alert. A changed limit has
 * its own tally.
 */
export function alertTally({ tally, level, limit }: BudgetAlert): string {
  return `alert/${level}/${limit}/${tally}`;
}
