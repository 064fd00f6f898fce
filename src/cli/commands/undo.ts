import { Command } from "commander";
import type { UndoneAct } from "../../core/event.ts";
import { example, type Invocation } from "../invocation.ts";
import { type Line, line, tableLines } from "../line.ts";
import { opened } from "../opening.ts";

export function undoCommand(invocation: Invocation): Command {
  const command = new Command("undo")
    .description("undo what a run did, as far as its tools can, the latest act first; tells what became of each")
    .argument("<run>", "the id of the run")
    .option("--reason <text>", "why, for the record")
    .addHelpText("after", example(`writ undo run_01k2… --reason "the trip is off"`));
  return invocation.does<{ readonly reason?: string }>(command, ([run = ""], options) =>
    opened(invocation, options, { work: "if_free", needs: "tools" }, async ({ engine, person }) => {
      const { reason } = options;
      const acts = await engine.undo(run, { principal: person, ...(reason !== undefined && { reason }) });
      invocation.terminal.answer({ run_id: run, acts }, () =>
        acts.length === 0 ? [line`run ${run} has done nothing that could be undone`] : actLines(acts),
      );
      return acts.every(({ undone }) => undone === "confirmed" || undone === "unconfirmed") ? 0 : 3;
    }),
  );
}

function actLines(acts: readonly UndoneAct[]): readonly Line[] {
  return tableLines(
    acts.map(({ step_id, tool, undone, why }) => [
      line`${step_id}`,
      line`${tool}`,
      line`${undone.replace("_", " ")}`,
      line`${why ?? ""}`,
    ]),
  );
}
