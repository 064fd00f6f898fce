import { Command } from "commander";
import type { BudgetView } from "../../engine/api.ts";
import { example, type Invocation } from "../invocation.ts";
import { type Line, line, tableLines } from "../line.ts";
import { opened } from "../opening.ts";
import { timeText } from "../result-text.ts";

interface BudgetOptions {
  readonly by?: string;
  readonly project?: string;
  readonly run?: string;
}

export function budgetCommand(invocation: Invocation): Command {
  const command = new Command("budget")
    .description(
      "what may still be spent, and what will have been at this pace; the limits are those of the config and of the policies",
    )
    .option("--by <id>", "whose budgets; default who proposes here")
    .option("--project <name>", "and those of this project")
    .option("--run <run>", "and those of this run")
    .addHelpText("after", example("writ budget", "writ budget --by ana --project website"));
  return invocation.does<BudgetOptions>(command, (_, options) =>
    opened(invocation, options, { work: "no", needs: "store" }, async ({ engine, person, proposer }) => {
      const { by = proposer.id, project, run } = options;
      const asked = { by, ...(project !== undefined && { project }), ...(run !== undefined && { runId: run }) };
      const budgets = await engine.budgets({ principal: person, ...asked });
      invocation.terminal.answer({ by, budgets }, () =>
        budgets.length === 0 ? [line`nothing is limited for ${by} in tenant ${person.tenant}`] : budgetLines(budgets),
      );
      return 0;
    }),
  );
}

function budgetLines(budgets: readonly BudgetView[]): readonly Line[] {
  return tableLines(
    budgets.map(({ unit, per, tool, rule, limit, used, tally, window, forecast, exhausted_at, alert }) => [
      line`${unit}${tool === null ? "" : ` of ${tool}`} per ${per}${rule === null ? "" : ` (${rule})`}`,
      tally === null ? line`at most ${limit}` : line`${used} of ${limit} used`,
      limit === 0 || tally === null ? line`` : line`${Math.floor((100 * used) / limit)} %`,
      window === null ? line`` : line`until ${timeText(window.until)}`,
      forecast === null ? line`` : line`${forecast} at this pace`,
      exhausted_at === null || alert === 100 ? line`` : line`used up ${timeText(exhausted_at)}`,
      alert === null ? line`` : line`${alert === 100 ? "used up" : `past ${alert} %`}`,
    ]),
  );
}
