import { Command, Option } from "commander";
import { type Mode, modes } from "../../core/values/effect.ts";
import type { SubmitOptions } from "../../engine/api/engine-api.ts";
import { type ExitCode, exitCodeOfStatus } from "../exit-code.ts";
import { followRun, lastPosition } from "../follow-run.ts";
import { type GlobalOptions, helpExample, type Invocation, parseInteger, parsePositiveNumber } from "../invocation.ts";
import { readContext, readPlanFile } from "../json-file.ts";
import { printRun } from "../print-run.ts";
import { printSimulation } from "../print-simulation.ts";
import { line } from "../safe-line.ts";
import { type OpenedEngine, withEngine } from "../with-engine.ts";

interface RunOptions {
  readonly context?: string;
  readonly requestKey?: string;
  readonly retryFailed?: boolean;
  readonly mode?: Mode;
  readonly wait?: boolean;
  readonly detach?: boolean;
  readonly deadline?: number;
  readonly queue?: string;
  readonly priority?: number;
  readonly project?: string;
  readonly session?: string;
}

export function runCommand(invocation: Invocation): Command {
  const command = new Command("run")
    .description("run a plan with the config's tools, as the config's principal")
    .argument("<plan>", "JSON file with the plan, or - for stdin")
    .option("--context <json|file>", "values for the placeholders of idempotency templates")
    .option("--request-key <key>", "a repeated request with this key and plan attaches to the same run")
    .option("--retry-failed", "if that run has failed, run its unsuccessful steps again, as resume does")
    .addOption(new Option("--mode <mode>", "how far the run may go without a person").choices(modes))
    .option("--deadline <ms>", "refuse steps that have not started after this time", parsePositiveNumber)
    .option("--project <name>", "use the state of this project (default: the run has its own state)")
    .option("--session <name>", "name of a scope inside the project")
    .option("--queue <name>", "only workers that serve this queue execute the run (default: default)")
    .option("--priority <n>", "runs of a tenant with a higher number start first (default: 0)", parseInteger)
    .option("--wait", "wait until the run has ended; the default on a terminal")
    .option("--no-wait", "exit 3 when the run waits for a person; the default without a terminal")
    .option("--detach", "only submit the plan; a worker executes it (writ worker)")
    .addHelpText(
      "after",
      helpExample("writ run plan.json", `writ run plan.json --request-key "welcome ana" --wait --json`),
    );
  return invocation.withAction<RunOptions>(command, async ([path = ""], options) => {
    const plan = await readPlanFile(path, invocation.host);
    const given = await readSubmitOptions(options, invocation.host.cwd);
    // A simulation executes nothing, so the store stays free for a worker.
    if (options.mode === "dry_run") {
      return withEngine(invocation, options, { work: "no", needs: "tools" }, (opened) =>
        printSimulation(invocation, opened, plan, given),
      );
    }
    if (options.detach) {
      return withEngine(invocation, options, { work: "no", needs: "tools", createsStore: true }, (opened) =>
        submitDetached(invocation, opened, plan, given),
      );
    }
    return withEngine(invocation, options, { work: "yes", needs: "tools", createsStore: true }, (opened) =>
      submitAndFollow(invocation, opened, plan, given, options),
    );
  });
}

async function readSubmitOptions(options: RunOptions, cwd: string): Promise<Omit<SubmitOptions, "principal">> {
  const { context, requestKey, retryFailed, mode, deadline, queue, priority, project, session } = options;
  return {
    ...(context !== undefined && { context: await readContext(context, cwd) }),
    ...(requestKey !== undefined && { requestKey }),
    ...(retryFailed !== undefined && { retryFailed }),
    ...(mode !== undefined && { mode }),
    ...(deadline !== undefined && { deadlineMs: deadline }),
    ...(queue !== undefined && { queue }),
    ...(priority !== undefined && { priority }),
    ...(project !== undefined && { project }),
    ...(session !== undefined && { session }),
  };
}

async function submitDetached(
  { terminal }: Invocation,
  opened: OpenedEngine,
  plan: unknown,
  given: Omit<SubmitOptions, "principal">,
): Promise<ExitCode> {
  const { run_id, attached } = await opened.engine.submit(plan, { ...given, principal: opened.proposer });
  terminal.printResult({ run_id, attached }, () => [
    attached ? line`this request already has run ${run_id}` : line`run ${run_id} is accepted`,
    line`watch it with:  ${opened.commandLine("events", run_id, "--follow")}`,
  ]);
  return 0;
}

async function submitAndFollow(
  invocation: Invocation,
  opened: OpenedEngine,
  plan: unknown,
  given: Omit<SubmitOptions, "principal">,
  { wait }: RunOptions & GlobalOptions,
): Promise<ExitCode> {
  const { terminal } = invocation;
  const handle = await opened.engine.submit(plan, { ...given, principal: opened.proposer });
  if (handle.attached) terminal.note(line`this request already has run ${handle.run_id}; no second run is started`);
  const after = handle.attached ? await lastPosition(handle) : 0;
  const result = await followRun(invocation, opened, handle, { stay: wait ?? terminal.isInteractive, after });
  await printRun(invocation, opened, result, { document: { ...result, attached: handle.attached } });
  return exitCodeOfStatus(result.status);
}
