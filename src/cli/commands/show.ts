import { Command } from "commander";
import { helpExample, type Invocation } from "../invocation.ts";
import { printRun } from "../print-run.ts";
import { withEngine } from "../with-engine.ts";

export function showCommand(invocation: Invocation): Command {
  const command = new Command("show")
    .description("show the status of a run and what can be done now")
    .argument("<run>", "id of the run; see: writ runs")
    .addHelpText("after", helpExample("writ show run_01k2…", "writ show run_01k2… --json"));
  return invocation.withAction(command, ([run = ""], options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async (opened) => {
      const handle = await opened.engine.run(run, { principal: opened.person });
      await printRun(invocation, opened, { ...(await handle.now()), executing: opened.isExecuted() });
      return 0;
    }),
  );
}
