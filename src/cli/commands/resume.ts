import { Command } from "commander";
import { type ExitCode, exitCodeOfStatus } from "../exit-code.ts";
import { followRun, lastPosition } from "../follow-run.ts";
import { type GlobalOptions, helpExample, type Invocation } from "../invocation.ts";
import { printRun } from "../print-run.ts";
import { line } from "../safe-line.ts";
import { findConfig, type OpenedEngine, type OpenOptions, withEngine } from "../with-engine.ts";

interface ResumeOptions {
  readonly reason?: string;
}

export function resumeCommand(invocation: Invocation): Command {
  const command = new Command("resume")
    .description("continue a run: here, or in the process that already executes this store")
    .argument("<run>", "id of the run")
    .option("--reason <text>", "the reason, for the record")
    .addHelpText("after", helpExample("writ resume run_01k2…"));
  return invocation.withAction<ResumeOptions>(command, ([run = ""], options) =>
    withEngine(invocation, options, executionOf(options, invocation.host.cwd), (opened) =>
      resumeRun(invocation, opened, run, options),
    ),
  );
}

/** Without a config there are no tools to execute with. The request is recorded, and a process that has them continues. */
function executionOf(options: GlobalOptions, cwd: string): OpenOptions {
  return findConfig(options, cwd) === null ? { work: "no", needs: "store" } : { work: "if_free", needs: "tools" };
}

async function resumeRun(
  invocation: Invocation,
  opened: OpenedEngine,
  run: string,
  { reason }: ResumeOptions,
): Promise<ExitCode> {
  const { engine, person, works, commandLine } = opened;
  const after = await lastPosition(await engine.run(run, { principal: person }));
  const handle = await engine.resume(run, { principal: person, ...(reason !== undefined && { reason }) });
  const result = works
    ? { ...(await followRun(invocation, opened, handle, { stay: false, after })), running: false }
    : { ...(await handle.now()), executing: opened.isExecuted() };
  const elsewhere = line`another process executes this store and continues the run; watch it with:  ${commandLine("events", run, "--follow")}`;
  const before = works || opened.isExecuted() !== true ? [] : [elsewhere];
  await printRun(invocation, opened, result, { document: { ...result, executed: works }, before });
  return exitCodeOfStatus(result.status);
}
