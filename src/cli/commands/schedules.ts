import { Command } from "commander";
import type { ScheduleRow } from "../../core/store/tables.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line, type SafeLine, tableLines } from "../safe-line.ts";
import { scheduleTimeText } from "../schedule-time-text.ts";
import type { TextStyle } from "../text-style.ts";
import { withEngine } from "../with-engine.ts";

export function schedulesCommand(invocation: Invocation): Command {
  const command = new Command("schedules")
    .description("list the schedules with their next time and their last result")
    .addHelpText("after", helpExample("writ schedules", "writ schedules --json"));
  return invocation.withAction(command, (_, options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const schedules = await engine.schedules.list({ principal: person });
      invocation.terminal.printResult({ schedules }, () => {
        if (schedules.length === 0) return [line`no schedules in tenant ${person.tenant}`];
        return tableLines(schedules.map((row) => scheduleCells(row, invocation.terminal.style)));
      });
      return 0;
    }),
  );
}

function scheduleCells(row: ScheduleRow, style: TextStyle): readonly SafeLine[] {
  const { schedule, cron, zone, last } = row;
  return [
    line`${schedule}`,
    line`${cron}`,
    line`${zone}`,
    line`${scheduleTimeText(row, style)}`,
    line`${last?.run_id ?? last?.fault?.message ?? ""}`,
  ];
}
