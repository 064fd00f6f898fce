import { Command } from "commander";
import type { CostReport, SpendingReport } from "../../engine/api/engine-api.ts";
import { helpExample, type Invocation, invalidInput } from "../invocation.ts";
import { line, type SafeLine, shortValue, tableLines } from "../safe-line.ts";
import { spentLines } from "../spent-text.ts";
import type { TextStyle } from "../text-style.ts";
import { timeText } from "../time-text.ts";
import { withEngine } from "../with-engine.ts";

interface CostOptions {
  readonly period?: string;
  readonly project?: string;
  readonly by?: string;
}

export function costCommand(invocation: Invocation): Command {
  const command = new Command("cost")
    .description("print the cost of a run, or the spending of a tenant in a month or of a principal on a day")
    .argument("[run]", "id of a run")
    .option("--period <period>", "a month (2025-11) or a day (2025-11-15), in UTC (default: this month)")
    .option("--project <name>", "with a month: only the spending of this project")
    .option("--by <id>", "with a day: the principal (default: the config's principal)")
    .addHelpText("after", helpExample("writ cost run_01k2…", "writ cost --period 2025-11"));
  return invocation.withAction<CostOptions>(command, async ([run], options) => {
    if (run !== undefined && options.period !== undefined)
      throw invalidInput("the cost of a run has no --period; leave out the run or --period");
    return withEngine(invocation, options, { work: "no", needs: "store" }, async (opened) => {
      const { engine, person, proposer } = opened;
      const { terminal } = invocation;
      if (run !== undefined) {
        const report = await engine.cost(run, { principal: person });
        terminal.printResult(report, () => costLines(report, terminal.style));
        return 0;
      }
      const period = options.period ?? new Date(opened.now()).toISOString().slice(0, "2025-11".length);
      const { project } = options;
      const by = spender(period, options.by, proposer.id);
      if (by !== null && project !== undefined)
        throw invalidInput("the spending of a project is counted per month; leave out the day or --project");
      const scope = { ...(by !== null && { by }), ...(project !== undefined && { project }) };
      const spent = await engine.spent({ principal: person, period, ...scope });
      const owner = by ?? (project === undefined ? `tenant ${person.tenant}` : `project ${project}`);
      terminal.printResult({ ...spent, by, project: project ?? null }, () => spendingLines(spent, owner));
      return 0;
    });
  });
}

/** Returns the principal whose spending on a day is meant, or null for a month: months are counted per tenant. */
function spender(period: string, by: string | undefined, proposer: string): string | null {
  if (/^\d{4}-\d\d-\d\d$/.test(period)) return by ?? proposer;
  if (!/^\d{4}-\d\d$/.test(period))
    throw invalidInput(`--period ${period} is neither a month like 2025-11 nor a day like 2025-11-15`);
  if (by !== undefined)
    throw invalidInput(`the spending of ${by} is counted per day; give --period a day like ${period}-01`);
  return null;
}

function costLines({ run_id, spent, attempts }: CostReport, style: TextStyle): readonly SafeLine[] {
  const rows = attempts.map(({ step_id, attempt, at, cost }) => [
    line`${step_id}`,
    line`attempt ${attempt}`,
    line`${timeText(at, style)}`,
    shortValue(cost),
  ]);
  return [line`${run_id}  ${spent.attempts} attempts`, ...tableLines(rows, "  "), ...totalLines(spent)];
}

function spendingLines(spent: SpendingReport, owner: string): readonly SafeLine[] {
  return [line`${owner}, ${spent.period}`, ...totalLines(spent)];
}

function totalLines(spent: Parameters<typeof spentLines>[0]): readonly SafeLine[] {
  const total = spentLines(spent);
  return total.length === 0 ? [line`nothing spent`] : total;
}
