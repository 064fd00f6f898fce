import { Command } from "commander";
import { helpExample, type Invocation } from "../invocation.ts";
import { printRun } from "../print-run.ts";
import { withEngine } from "../with-engine.ts";

export function cancelCommand(invocation: Invocation): Command {
  const command = new Command("cancel")
    .description("cancel a run; an act in flight finishes")
    .argument("<run>", "id of the run")
    .option("--reason <text>", "the reason, for the record")
    .addHelpText("after", helpExample(`writ cancel run_01k2… --reason "ordered twice"`));
  return invocation.withAction<{ readonly reason?: string }>(command, ([run = ""], options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async (opened) => {
      const handle = await opened.engine.run(run, { principal: opened.person });
      await handle.cancel(options.reason === undefined ? {} : { reason: options.reason });
      await printRun(invocation, opened, { ...(await handle.now()), executing: opened.isExecuted() });
      return 0;
    }),
  );
}
