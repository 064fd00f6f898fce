import { Command } from "commander";
import { FaultError, fault } from "../../core/fault.ts";
import type { PlanReport } from "../../engine/api.ts";
import { example, type Invocation } from "../invocation.ts";
import { readContext, readPlanFile } from "../json-file.ts";
import { line } from "../line.ts";
import { opened } from "../opening.ts";

export function checkCommand(invocation: Invocation): Command {
  const command = new Command("check")
    .description("check a plan against the config's tools; nothing is stored")
    .argument("<plan>", "a file with the plan, as JSON")
    .option("--context <json|file>", "values for the placeholders of idempotency templates")
    .addHelpText("after", example("writ check plan.json", "writ check plan.json --json"));
  return invocation.does<{ readonly context?: string }>(command, async ([path = ""], options) => {
    const { host, terminal } = invocation;
    const plan = await readPlanFile(path, host.cwd);
    const given = options.context === undefined ? {} : { context: await readContext(options.context, host.cwd) };
    return opened(invocation, options, { work: "no", needs: "tools" }, async ({ engine }) => {
      const report = engine.check(plan, given);
      if (!report.ok) throw refusal(path, report);
      terminal.answer(report, () => [
        line`${path} can be run`,
        ...report.warnings.map(({ path: where, message }) => line`  warning: ${where || "/"}: ${message}`),
      ]);
      return 0;
    });
  });
}

/** The same fault that running the plan would meet. */
function refusal(file: string, report: PlanReport): FaultError {
  const reasons = report.reasons.map(({ path, message }) => ({ path, message }));
  const list = reasons.map(({ path, message }) => `${path || "/"}: ${message}`).join("; ");
  return new FaultError(fault("PLAN_INVALID", `${file} cannot be run: ${list}`, { reasons }));
}
