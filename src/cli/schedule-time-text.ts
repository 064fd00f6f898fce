import type { ScheduleRow } from "../core/store/tables.ts";
import type { TextStyle } from "./text-style.ts";
import { timeText } from "./time-text.ts";

/** Returns the next time of a schedule, or the reason why it has none. */
export function scheduleTimeText({ status, next_at }: ScheduleRow, style: TextStyle): string {
  return status === "paused" ? "paused" : next_at === null ? "never" : timeText(next_at, style);
}
