import { Command } from "commander";
import { example, type Invocation } from "../invocation.ts";
import { line, tableLines } from "../line.ts";
import { opened } from "../opening.ts";
import { timeText } from "../result-text.ts";

export function workersCommand(invocation: Invocation): Command {
  const command = new Command("workers")
    .description("list who holds which runs, since when, and for how long unless it is renewed")
    .addHelpText("after", example("writ workers", "writ workers --json"));
  return invocation.does(command, (_, options) =>
    opened(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const workers = await engine.workers({ principal: person });
      invocation.terminal.answer({ workers }, () => {
        if (workers.length === 0) return [line`nobody holds a run of tenant ${person.tenant}`];
        return tableLines(
          workers.flatMap(({ worker, runs }) =>
            runs.map(({ run_id, queue, since, until }) => [
              line`${worker}`,
              line`${run_id}`,
              line`${queue ?? ""}`,
              line`since ${timeText(since)}`,
              line`until ${timeText(until)}`,
            ]),
          ),
        );
      });
      return 0;
    }),
  );
}
