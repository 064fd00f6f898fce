import { Command } from "commander";
import { haltLines, haltTarget } from "../halt-scope.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line } from "../safe-line.ts";
import { withEngine } from "../with-engine.ts";

interface LiftOptions {
  readonly reason?: string;
  readonly everything?: true;
}

export function liftCommand(invocation: Invocation): Command {
  const command = new Command("lift")
    .alias("go")
    .description("lift a halt; waiting steps continue by themselves")
    .argument("[run]", "the halted run (default: the halt of the tenant)")
    .option("--reason <text>", "the reason, for the record")
    .option("--everything", "the halt of all tenants of this store")
    .addHelpText("after", helpExample(`writ lift --reason "the list is correct again"`, "writ lift run_01k2…"));
  return invocation.withAction<LiftOptions>(command, ([run], options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const { reason, everything } = options;
      const scope = { run, ...(everything && { everything }) };
      await engine.halts.lift({ ...haltTarget(scope, person), ...(reason !== undefined && { reason }) });
      const halts = await engine.halts.list({ principal: person });
      invocation.terminal.printResult({ halts }, () => [
        line`lifted by ${person.id}`,
        ...haltLines(halts, invocation.terminal.style),
      ]);
      return 0;
    }),
  );
}
