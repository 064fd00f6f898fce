import { Command } from "commander";
import type { VerifiedAct } from "../../core/event/verified-act.ts";
import type { ExitCode } from "../exit-code.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line, type SafeLine, tableLines } from "../safe-line.ts";
import { withEngine } from "../with-engine.ts";

export function verifyCommand(invocation: Invocation): Command {
  const command = new Command("verify")
    .description("check with the verifiers of its tools that the recorded acts of a run are still in effect")
    .argument("<run>", "id of the run")
    .option("--reason <text>", "the reason, for the record")
    .addHelpText("after", helpExample("writ verify run_01k2…", "writ verify run_01k2… --json"));
  return invocation.withAction<{ readonly reason?: string }>(command, ([run = ""], options) =>
    withEngine(invocation, options, { work: "no", needs: "tools" }, async ({ engine, person }) => {
      const { reason } = options;
      const acts = await engine.verify(run, { principal: person, ...(reason !== undefined && { reason }) });
      invocation.terminal.printResult({ run_id: run, acts }, () =>
        acts.length === 0 ? [line`run ${run} has no recorded acts`] : actLines(acts),
      );
      return verificationExitCode(acts);
    }),
  );
}

/** 4 if an act is missing or different, 3 if one could not be checked, else 0. */
export function verificationExitCode(acts: readonly Pick<VerifiedAct, "found">[]): ExitCode {
  if (acts.some(({ found }) => found === "missing" || found === "different")) return 4;
  return acts.every(({ found }) => found === "confirmed") ? 0 : 3;
}

function actLines(acts: readonly VerifiedAct[]): readonly SafeLine[] {
  return tableLines(
    acts.map(({ step_id, tool, found, why }) => [
      line`${step_id}`,
      line`${tool}`,
      line`${found.replace("_", " ")}`,
      line`${why ?? ""}`,
    ]),
  );
}
