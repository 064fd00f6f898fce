import { Command } from "commander";
import { helpExample, type Invocation } from "../invocation.ts";
import { line, tableLines } from "../text-line.ts";
import { timeText } from "../time-text.ts";
import { withEngine } from "../with-engine.ts";

export function workersCommand(invocation: Invocation): Command {
  const command = new Command("workers")
    .description("list the runs that each worker holds, and the time until which it holds them")
    .addHelpText("after", helpExample("writ workers", "writ workers --json"));
  return invocation.withAction(command, (_, options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const workers = await engine.workers({ principal: person });
      invocation.terminal.printResult({ workers }, () => {
        if (workers.length === 0) return [line`no worker holds a run of tenant ${person.tenant}`];
        return tableLines(
          workers.flatMap(({ worker, runs }) =>
            runs.map(({ run_id, queue, since, until }) => [
              line`${worker}`,
              line`${run_id}`,
              line`${queue ?? ""}`,
              line`since ${timeText(since, invocation.terminal.style)}`,
              until === null
                ? line`until it releases the run`
                : line`until ${timeText(until, invocation.terminal.style)}`,
            ]),
          ),
        );
      });
      return 0;
    }),
  );
}
