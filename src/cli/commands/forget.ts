import { Command } from "commander";
import { helpExample, type Invocation } from "../invocation.ts";
import { line } from "../safe-line.ts";
import { withEngine } from "../with-engine.ts";

interface ForgetFlags {
  readonly owner?: string;
  readonly project?: string;
  readonly subject?: string;
  readonly reason?: string;
}

export function forgetCommand(invocation: Invocation): Command {
  const command = new Command("forget")
    .description("close a session and erase its runs; hashes, ledger and receipts stay, so no act is repeated")
    .argument("<session>", "the session")
    .option("--owner <id>", "the principal that opened it (default: you)")
    .option("--project <name>", "its project")
    .option("--subject <name>", "its subject")
    .option("--reason <text>", "why; it is recorded")
    .addHelpText("after", helpExample("writ forget chat-1 --owner agent"));
  return invocation.withAction<ForgetFlags>(command, ([session = ""], options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const { owner, project, subject, reason } = options;
      const erased = await engine.forget({
        principal: person,
        session,
        ...(owner !== undefined && { owner }),
        ...(project !== undefined && { project }),
        ...(subject !== undefined && { subject }),
        ...(reason !== undefined && { reason }),
      });
      invocation.terminal.printResult({ ...erased, session }, () => [
        line`erased ${erased.events} events of ${erased.runs} runs of session ${session}`,
        ...(erased.waiting > 0
          ? [line`${erased.waiting} runs wait: their acts have not ended; a worker erases them then`]
          : []),
      ]);
      return erased.log === "pending" ? 3 : 0;
    }),
  );
}
