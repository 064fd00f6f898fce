import { Command } from "commander";
import { helpExample, type Invocation } from "../invocation.ts";
import { readContext, readPlanFile } from "../json-file.ts";
import { printSimulation } from "../print-simulation.ts";
import { withEngine } from "../with-engine.ts";

export function simulateCommand(invocation: Invocation): Command {
  const command = new Command("simulate")
    .description("report what a plan would do, without doing it")
    .argument("<plan>", "JSON file with the plan, or - for stdin")
    .option("--reads <how>", "source of the answers of tools that read: recorded, none or live", "recorded")
    .option("--context <json|file>", "values for the placeholders of idempotency templates")
    .addHelpText("after", helpExample("writ simulate plan.json"));
  return invocation.withAction<{ readonly context?: string; readonly reads: string }>(
    command,
    async ([path = ""], options) => {
      const { cwd } = invocation.host;
      const plan = await readPlanFile(path, invocation.host);
      const context = options.context === undefined ? {} : { context: await readContext(options.context, cwd) };
      const given = { ...context, reads: options.reads as "recorded" };
      // Live reads are runs, which need a worker.
      const work = options.reads === "live" ? "yes" : "no";
      return withEngine(invocation, options, { work, needs: "tools" }, (opened) =>
        printSimulation(invocation, opened, plan, given),
      );
    },
  );
}
