import { Command, Option } from "commander";
import { helpExample, type Invocation, parsePositiveNumber } from "../invocation.ts";
import { jsonLines, line } from "../safe-line.ts";
import { timeText } from "../time-text.ts";
import { otherTenantLines, withEngine } from "../with-engine.ts";

interface DoubtsOptions {
  readonly limit: number;
  readonly after?: string;
  readonly run?: string;
  readonly tool?: string;
  readonly project?: string;
  readonly session?: string;
  readonly by?: string;
  readonly waitingFor?: "person" | "verifier";
}

export function doubtsCommand(invocation: Invocation): Command {
  const command = new Command("doubts")
    .description("list the acts that may or may not have happened, newest runs first")
    .option("--run <run>", "only acts of this run")
    .option("--tool <tool>", "only calls of this tool")
    .option("--project <project>", "only runs of this project")
    .option("--session <session>", "only runs of this session")
    .option("--by <principal>", "only calls that this principal requested")
    .addOption(new Option("--waiting-for <who>", "only acts that wait for this").choices(["person", "verifier"]))
    .option("--limit <n>", "maximum number of acts", parsePositiveNumber, 50)
    .option("--after <cursor>", "continue after an earlier page: its cursor, `next`")
    .addHelpText("after", helpExample("writ doubts", "writ doubts --waiting-for person --json"));
  return invocation.withAction<DoubtsOptions>(command, (_, options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async (opened) => {
      const { engine, person, commandLine } = opened;
      const { limit, after, run: runId, tool, project, session, by, waitingFor } = options;
      const filter = { after, runId, tool, project, session, by, waitingFor };
      const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
      const doubts = await engine.inDoubt({ principal: person, limit, ...given });
      invocation.terminal.printResult({ doubts, next: doubts.next }, () => {
        if (doubts.length === 0)
          return [line`no act is in doubt in tenant ${person.tenant}`, ...otherTenantLines(opened)];
        const { style } = invocation.terminal;
        return doubts.flatMap((doubt) => [
          line``,
          line`${doubt.tool} (step ${doubt.step_id} of ${doubt.run_id}), requested by ${doubt.requester}`,
          ...("input" in doubt ? jsonLines(doubt.input, "    ") : []),
          line`  in doubt since ${timeText(doubt.since, style)}: ${doubt.fault.message}`,
          line`  waits for a ${doubt.waiting_for}`,
          line`  settle:  ${commandLine("resolve", doubt.run_id, doubt.step_id)} --happened | --absent | --give-up`,
        ]);
      });
      return 0;
    }),
  );
}
