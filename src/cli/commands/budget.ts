import { Command } from "commander";
import type { BudgetView } from "../../engine/api/engine-api.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line, type SafeLine, tableLines } from "../safe-line.ts";
import type { TextStyle } from "../text-style.ts";
import { timeText } from "../time-text.ts";
import { withEngine } from "../with-engine.ts";

interface BudgetOptions {
  readonly by?: string;
  readonly project?: string;
  readonly run?: string;
}

export function budgetCommand(invocation: Invocation): Command {
  const command = new Command("budget")
    .description("list the budgets and rates of the config and the policies: limit, amount used, forecast")
    .option("--by <id>", "the principal (default: the config's principal)")
    .option("--project <name>", "include the budgets of this project")
    .option("--run <run>", "include the budgets of this run")
    .addHelpText("after", helpExample("writ budget", "writ budget --by ana --project website"));
  return invocation.withAction<BudgetOptions>(command, (_, options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person, proposer }) => {
      const { by = proposer.id, project, run } = options;
      const scope = { by, ...(project !== undefined && { project }), ...(run !== undefined && { runId: run }) };
      const budgets = await engine.budgets({ principal: person, ...scope });
      invocation.terminal.printResult({ by, budgets }, () =>
        budgets.length === 0
          ? [line`nothing is limited for ${by} in tenant ${person.tenant}`]
          : budgetLines(budgets, invocation.terminal.style),
      );
      return 0;
    }),
  );
}

function budgetLines(budgets: readonly BudgetView[], style: TextStyle): readonly SafeLine[] {
  return tableLines(
    budgets.map(({ unit, per, tool, rule, limit, used, tally, window, forecast, exhausted_at, alert }) => [
      line`${unit}${tool === null ? "" : ` of ${tool}`} per ${per}${rule === null ? "" : ` (${rule})`}`,
      tally === null ? line`at most ${limit}` : line`${used} of ${limit} used`,
      limit === 0 || tally === null ? line`` : line`${Math.floor((100 * used) / limit)} %`,
      window === null ? line`` : line`until ${timeText(window.until, style)}`,
      forecast === null ? line`` : line`${forecast} at this pace`,
      exhausted_at === null || alert === 100 ? line`` : line`used up ${timeText(exhausted_at, style)}`,
      alert === null ? line`` : line`${alert === 100 ? "used up" : `past ${alert} %`}`,
    ]),
  );
}
