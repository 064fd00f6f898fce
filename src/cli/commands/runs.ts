import { Command, Option } from "commander";
import { listedStatuses } from "../../core/run/listed-statuses.ts";
import { helpExample, type Invocation, parsePositiveNumber } from "../invocation.ts";
import { stateText } from "../result-text.ts";
import { line, tableLines } from "../text-line.ts";
import { timeText } from "../time-text.ts";
import { otherTenantLines, withEngine } from "../with-engine.ts";

export function runsCommand(invocation: Invocation): Command {
  const command = new Command("runs")
    .description("list the runs, newest first")
    .addOption(new Option("--status <status>", "only runs with this status").choices(listedStatuses))
    .option("--limit <n>", "maximum number of runs", parsePositiveNumber, 50)
    .addHelpText("after", helpExample("writ runs", "writ runs --status waiting --limit 10"));
  return invocation.withAction<{ readonly status?: string; readonly limit: number }>(command, (_, options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async (opened) => {
      const { engine, person } = opened;
      const { status, limit } = options;
      const runs = await engine.runs({ principal: person, limit, ...(status !== undefined && { status }) });
      invocation.terminal.printResult({ runs }, () => {
        if (runs.length === 0)
          return [
            line`no ${status ?? ""}${status === undefined ? "" : " "}runs in tenant ${person.tenant}`,
            ...otherTenantLines(opened),
          ];
        const { style } = invocation.terminal;
        return tableLines(
          runs.map((run) => [
            line`${run.run_id}`,
            stateText(run.status, style),
            line`${timeText(run.accepted_at, style)}`,
            line`${run.principal}`,
            line`${run.plan_id ?? ""}`,
          ]),
        );
      });
      return 0;
    }),
  );
}
