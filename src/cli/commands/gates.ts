import { Command } from "commander";
import { example, type Invocation, positiveNumber } from "../invocation.ts";
import { line } from "../line.ts";
import { opened } from "../opening.ts";
import { gateLines, hiddenLines } from "../result-text.ts";

export function gatesCommand(invocation: Invocation): Command {
  const command = new Command("gates")
    .description("list the calls that wait for a person, oldest first")
    .option("--limit <n>", "at most so many", positiveNumber, 50)
    .addHelpText("after", example("writ gates", "writ gates --json"));
  return invocation.does<{ readonly limit: number }>(command, (_, options) =>
    opened(invocation, options, { work: "no", needs: "store" }, async ({ engine, person, commandLine }) => {
      const gates = await engine.gates({ principal: person, limit: options.limit });
      invocation.terminal.answer({ gates }, () => {
        if (gates.length === 0) return [line`nothing waits for a person in tenant ${person.tenant}`];
        return gates.flatMap((gate) => [
          ...("fault" in gate ? hiddenLines(gate, commandLine) : gateLines(gate, commandLine)),
          line`  asked by ${gate.requester} in ${gate.run_id}`,
        ]);
      });
      return 0;
    }),
  );
}
