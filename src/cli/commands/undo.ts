import { Command } from "commander";
import type { UndoneAct } from "../../core/event/undone-act.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line, type SafeLine, tableLines } from "../safe-line.ts";
import { withEngine } from "../with-engine.ts";

export function undoCommand(invocation: Invocation): Command {
  const command = new Command("undo")
    .description("undo the acts of a run, as far as its tools can, the latest first, and report each")
    .argument("<run>", "id of the run")
    .option("--reason <text>", "the reason, for the record")
    .addHelpText("after", helpExample(`writ undo run_01k2… --reason "the trip is off"`));
  return invocation.withAction<{ readonly reason?: string }>(command, ([run = ""], options) =>
    withEngine(invocation, options, { work: "if_free", needs: "tools" }, async ({ engine, person }) => {
      const { reason } = options;
      const acts = await engine.undo(run, { principal: person, ...(reason !== undefined && { reason }) });
      invocation.terminal.printResult({ run_id: run, acts }, () =>
        acts.length === 0 ? [line`run ${run} has no acts to undo`] : actLines(acts),
      );
      return acts.every(({ undone }) => undone === "confirmed" || undone === "unconfirmed") ? 0 : 3;
    }),
  );
}

function actLines(acts: readonly UndoneAct[]): readonly SafeLine[] {
  return tableLines(
    acts.map(({ step_id, tool, undone, why }) => [
      line`${step_id}`,
      line`${tool}`,
      line`${undone.replace("_", " ")}`,
      line`${why ?? ""}`,
    ]),
  );
}
