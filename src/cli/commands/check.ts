import { Command } from "commander";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { PlanReport } from "../../engine/api/engine-api.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { readContext, readPlanFile } from "../json-file.ts";
import { line } from "../safe-line.ts";
import { withEngine } from "../with-engine.ts";

export function checkCommand(invocation: Invocation): Command {
  const command = new Command("check")
    .description("check a plan against the config's tools; nothing is stored")
    .argument("<plan>", "JSON file with the plan, or - for stdin")
    .option("--context <json|file>", "values for the placeholders of idempotency templates")
    .addHelpText("after", helpExample("writ check plan.json", "writ check plan.json --json"));
  return invocation.withAction<{ readonly context?: string }>(command, async ([path = ""], options) => {
    const { host, terminal } = invocation;
    const plan = await readPlanFile(path, host);
    const given = options.context === undefined ? {} : { context: await readContext(options.context, host.cwd) };
    return withEngine(invocation, options, { work: "no", needs: "tools" }, async ({ engine, proposer }) => {
      const report = await engine.check(plan, { ...given, principal: proposer });
      if (!report.ok) throw planFault(path, report);
      terminal.printResult(report, () => [
        line`${path === "-" ? "the plan" : path} can be run`,
        ...report.findings.map(
          ({ severity, path: where, message }) => line`  ${severity}: ${where || "/"}: ${message}`,
        ),
      ]);
      return 0;
    });
  });
}

/** Returns the fault that `writ run` would report. */
function planFault(file: string, report: PlanReport): FaultError {
  const reasons = report.reasons.map(({ path, message }) => ({ path, message }));
  const list = reasons.map(({ path, message }) => `${path || "/"}: ${message}`).join("; ");
  return new FaultError(fault("PLAN_INVALID", `${file} cannot be run: ${list}`, { reasons }));
}
