import { Command } from "commander";
import { type ExitCode, exitOfStatus } from "../exit-code.ts";
import { followed, positionOf } from "../following.ts";
import { example, type Invocation } from "../invocation.ts";
import { line } from "../line.ts";
import { type Opened, opened } from "../opening.ts";
import { resultLines } from "../result-text.ts";

interface LifeOptions {
  readonly reason?: string;
}

export function resumeCommand(invocation: Invocation): Command {
  const command = new Command("resume")
    .description("take a run up again: executes it here unless another process executes this store, then that one does")
    .argument("<run>", "the id of the run")
    .option("--reason <text>", "why, for the record")
    .addHelpText("after", example("writ resume run_01k2…"));
  return invocation.does<LifeOptions>(command, ([run = ""], options) =>
    opened(invocation, options, { work: "if_free", needs: "tools" }, (it) => resumed(invocation, it, run, options)),
  );
}

async function resumed(invocation: Invocation, it: Opened, run: string, { reason }: LifeOptions): Promise<ExitCode> {
  const { terminal } = invocation;
  const { works } = it;
  const after = await positionOf(await it.engine.run(run, { principal: it.person }));
  const handle = await it.engine.resume(run, { principal: it.person, ...(reason !== undefined && { reason }) });
  const result = works
    ? { ...(await followed(invocation, it, handle, { stay: false, after })), running: false }
    : await handle.now();
  terminal.answer({ ...result, executed: works }, () => [
    ...(works
      ? []
      : [
          line`another process executes this store and goes on with it; watch with:  ${it.commandLine("events", run, "--follow")}`,
        ]),
    ...resultLines(result, it.commandLine, terminal.paint),
  ]);
  return exitOfStatus(result.status);
}

export function cancelCommand(invocation: Invocation): Command {
  const command = new Command("cancel")
    .description("cancel a run; an act in flight comes to its own end")
    .argument("<run>", "the id of the run")
    .option("--reason <text>", "why, for the record")
    .addHelpText("after", example(`writ cancel run_01k2… --reason "ordered twice"`));
  return invocation.does<LifeOptions>(command, ([run = ""], options) =>
    opened(invocation, options, { work: "no", needs: "store" }, async ({ engine, person, isExecuted, commandLine }) => {
      const handle = await engine.run(run, { principal: person });
      await handle.cancel(options.reason === undefined ? {} : { reason: options.reason });
      const now = { ...(await handle.now()), executing: isExecuted() };
      invocation.terminal.answer(now, () => resultLines(now, commandLine, invocation.terminal.paint));
      return 0;
    }),
  );
}
