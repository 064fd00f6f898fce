import { Command } from "commander";
import { haltArguments, haltLines, haltTarget } from "../halt-scope.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line } from "../safe-line.ts";
import { withEngine } from "../with-engine.ts";

interface HaltOptions {
  readonly reason: string;
  readonly everything?: true;
}

export function haltCommand(invocation: Invocation): Command {
  const command = new Command("halt")
    .description("start no new call on any worker until the halt is lifted; calls in flight finish")
    .argument("[run]", "halt only this run and its child runs (default: all runs of the tenant)")
    .requiredOption("--reason <text>", "the reason, for the record and for the person who lifts the halt")
    .option("--everything", "halt all tenants of this store")
    .addHelpText(
      "after",
      helpExample(`writ halt --reason "it mails the wrong people"`, `writ halt run_01k2… --reason "loops"`),
    );
  return invocation.withAction<HaltOptions>(command, ([run], options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person, commandLine }) => {
      const { reason, everything } = options;
      const scope = { run, ...(everything && { everything }) };
      await engine.halts.set({ ...haltTarget(scope, person), reason });
      const halts = await engine.halts.list({ principal: person });
      invocation.terminal.printResult({ halts }, () => [
        ...haltLines(halts, invocation.terminal.style),
        line`no new call starts there; lift the halt with:  ${commandLine("lift", ...haltArguments(scope))}`,
      ]);
      return 0;
    }),
  );
}
