import { Command } from "commander";
import { gateLines, hiddenGateLines } from "../gate-text.ts";
import { helpExample, type Invocation, parsePositiveNumber } from "../invocation.ts";
import { line } from "../safe-line.ts";
import { otherTenantLines, withEngine } from "../with-engine.ts";

interface GatesOptions {
  readonly run?: string;
  readonly tool?: string;
  readonly project?: string;
  readonly session?: string;
  readonly by?: string;
  readonly mine?: boolean;
  readonly limit: number;
  readonly after?: string;
}

export function gatesCommand(invocation: Invocation): Command {
  const command = new Command("gates")
    .description("list the calls that wait for a person, newest first")
    .option("--run <run>", "only calls of this run")
    .option("--tool <tool>", "only calls of this tool")
    .option("--project <project>", "only runs of this project")
    .option("--session <session>", "only runs of this session")
    .option("--by <principal>", "only calls that this principal requested")
    .option("--mine", "only gates that you can decide now")
    .option("--limit <n>", "maximum number of gates", parsePositiveNumber, 50)
    .option("--after <cursor>", "continue after an earlier page: its cursor, `next`")
    .addHelpText("after", helpExample("writ gates", "writ gates --mine", "writ gates --json"));
  return invocation.withAction<GatesOptions>(command, (_, options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async (opened) => {
      const { engine, person, commandLine } = opened;
      const { run: runId, tool, project, session, by, mine: decidable, limit, after } = options;
      const filter = { runId, tool, project, session, by, decidable, limit, after };
      const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
      const gates = await engine.gates({ principal: person, ...given });
      invocation.terminal.printResult({ gates, next: gates.next }, () => {
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
