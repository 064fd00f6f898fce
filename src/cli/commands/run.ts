import { Command, Option } from "commander";
import { type Mode, modes } from "../../core/effect.ts";
import type { SubmitOptions } from "../../engine/api.ts";
import { type ExitCode, exitOfStatus } from "../exit-code.ts";
import { followed, positionOf } from "../following.ts";
import { example, type GlobalOptions, type Invocation, integer, positiveNumber } from "../invocation.ts";
import { readContext, readPlanFile } from "../json-file.ts";
import { line } from "../line.ts";
import { type Opened, opened } from "../opening.ts";
import { resultLines } from "../result-text.ts";
import { simulated } from "./simulate.ts";

interface RunOptions {
  readonly context?: string;
  readonly requestKey?: string;
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
    .argument("<plan>", "a file with the plan, as JSON")
    .option("--context <json|file>", "values for the placeholders of idempotency templates")
    .option("--request-key <key>", "the same key and plan again is the same run, not a second one")
    .addOption(new Option("--mode <mode>", "how far it may go by itself").choices(modes))
    .option("--deadline <ms>", "refuse what has not started by then", positiveNumber)
    .option("--project <name>", "work on the state of this project (default: the run has a state of its own)")
    .option("--session <name>", "with its own part of that state")
    .option("--queue <name>", "only workers that serve it take the run up (default: default)")
    .option("--priority <n>", "of a tenant's runs, the highest is taken up first (default: 0)", integer)
    .option("--wait", "stay until the run has ended; the default on a terminal")
    .option("--no-wait", "exit 3 when the run waits for someone; the default elsewhere")
    .option("--detach", "hand the plan in and leave it to a worker (writ worker)")
    .addHelpText(
      "after",
      example("writ run plan.json", `writ run plan.json --request-key "welcome ana" --wait --json`),
    );
  return invocation.does<RunOptions>(command, async ([path = ""], options) => {
    const plan = await readPlanFile(path, invocation.host.cwd);
    const given = await submission(options, invocation.host.cwd);
    // A rehearsal executes nothing, so it leaves the store to its worker.
    if (options.mode === "dry_run") {
      return opened(invocation, options, { work: "no", needs: "tools" }, (it) =>
        simulated(invocation, it, plan, given),
      );
    }
    if (options.detach) {
      return opened(invocation, options, { work: "no", needs: "tools", keeps: true }, (it) =>
        handedIn(invocation, it, plan, given),
      );
    }
    return opened(invocation, options, { work: "yes", needs: "tools" }, (it) =>
      submitted(invocation, it, plan, given, options),
    );
  });
}

async function submission(options: RunOptions, cwd: string): Promise<Omit<SubmitOptions, "principal">> {
  const { context, requestKey, mode, deadline, queue, priority, project, session } = options;
  return {
    ...(context !== undefined && { context: await readContext(context, cwd) }),
    ...(requestKey !== undefined && { requestKey }),
    ...(mode !== undefined && { mode }),
    ...(deadline !== undefined && { deadlineMs: deadline }),
    ...(queue !== undefined && { queue }),
    ...(priority !== undefined && { priority }),
    ...(project !== undefined && { project }),
    ...(session !== undefined && { session }),
  };
}

async function handedIn(
  { terminal }: Invocation,
  it: Opened,
  plan: unknown,
  given: Omit<SubmitOptions, "principal">,
): Promise<ExitCode> {
  const { run_id, attached } = await it.engine.submit(plan, { ...given, principal: it.proposer });
  terminal.answer({ run_id, attached }, () => [
    attached ? line`this request is already run ${run_id}` : line`run ${run_id} is accepted`,
    line`watch it with:  ${it.commandLine("events", run_id, "--follow")}`,
  ]);
  return 0;
}

async function submitted(
  invocation: Invocation,
  it: Opened,
  plan: unknown,
  given: Omit<SubmitOptions, "principal">,
  { wait }: RunOptions & GlobalOptions,
): Promise<ExitCode> {
  const { terminal } = invocation;
  const handle = await it.engine.submit(plan, { ...given, principal: it.proposer });
  if (handle.attached) terminal.note(line`this request is already run ${handle.run_id}; nothing is started twice`);
  const after = handle.attached ? await positionOf(handle) : 0;
  const result = await followed(invocation, it, handle, { stay: wait ?? terminal.isWatched, after });
  terminal.answer({ ...result, attached: handle.attached }, () => resultLines(result, it.commandLine, terminal.paint));
  return exitOfStatus(result.status);
}
