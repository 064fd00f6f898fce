import { Command } from "commander";
import { haltLines } from "../halt-scope.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line } from "../safe-line.ts";
import { withEngine } from "../with-engine.ts";

export function haltsCommand(invocation: Invocation): Command {
  const command = new Command("halts")
    .description("list the halts in force, with their time, person and reason")
    .addHelpText("after", helpExample("writ halts"));
  return invocation.withAction(command, (_, options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const halts = await engine.halts.list({ principal: person });
      invocation.terminal.printResult({ halts }, () =>
        halts.length === 0
          ? [line`nothing is halted in tenant ${person.tenant}`]
          : haltLines(halts, invocation.terminal.style),
      );
      return 0;
    }),
  );
}
