import { Command } from "commander";
import { gateLines, hiddenGateLines } from "../gate-text.ts";
import { helpExample, type Invocation, parsePositiveNumber } from "../invocation.ts";
import { line } from "../text-line.ts";
import { otherTenantLines, withEngine } from "../with-engine.ts";

export function gatesCommand(invocation: Invocation): Command {
  const command = new Command("gates")
    .description("list the calls that wait for a person, oldest first")
    .option("--limit <n>", "maximum number of gates", parsePositiveNumber, 50)
    .addHelpText("after", helpExample("writ gates", "writ gates --json"));
  return invocation.withAction<{ readonly limit: number }>(command, (_, options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async (opened) => {
      const { engine, person, commandLine } = opened;
      const gates = await engine.gates({ principal: person, limit: options.limit });
      invocation.terminal.printResult({ gates }, () => {
        if (gates.length === 0)
          return [line`no call waits for a person in tenant ${person.tenant}`, ...otherTenantLines(opened)];
        return gates.flatMap((gate) =>
          "fault" in gate
            ? hiddenGateLines(gate, commandLine)
            : gateLines(gate, commandLine, invocation.terminal.style),
        );
      });
      return 0;
    }),
  );
}
