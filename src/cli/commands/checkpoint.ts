import { Argument, Command, Option } from "commander";
import type { ResourceChange } from "../../core/ports/resource.ts";
import { type Mode, modes } from "../../core/values/effect.ts";
import type { CheckpointDiff, CheckpointRef, CheckpointView, StateSelector } from "../../engine/api/state-api.ts";
import { type ExitCode, exitCodeOfStatus } from "../exit-code.ts";
import { followRun } from "../follow-run.ts";
import { type GlobalOptions, helpExample, type Invocation, invalidInput } from "../invocation.ts";
import { readPlanFile } from "../json-file.ts";
import { printRun } from "../print-run.ts";
import { line, type SafeLine, shortValue, tableLines } from "../safe-line.ts";
import type { TextStyle } from "../text-style.ts";
import { timeText } from "../time-text.ts";
import { type OpenedEngine, withEngine } from "../with-engine.ts";

interface CheckpointOptions extends GlobalOptions {
  readonly project?: string;
  readonly session?: string;
  readonly reason?: string;
  readonly logs?: boolean;
  readonly files?: "restore" | "leave";
  readonly plan?: string;
  readonly mode?: Mode;
}

export function checkpointCommand(invocation: Invocation): Command {
  const command = new Command("checkpoint")
    .description("list the calls that changed state or files, compare them, restore one, or fork a run from one")
    .addArgument(new Argument("<what>", "action").choices(["list", "diff", "restore", "fork"]))
    .argument("[at]", "for list: a run; else a checkpoint, like run_01k2…/send/before")
    .argument("[to]", "for diff: the other checkpoint (default: after the same call)")
    .option("--project <name>", "for list: the checkpoints of this project")
    .option("--session <name>", "for list: the session of the project")
    .option("--reason <text>", "for restore: the reason, for the record")
    .option("--logs", "for restore: restore the log slices too")
    .addOption(
      new Option("--files <what>", "for fork, if later calls changed files: restore or leave them").choices([
        "restore",
        "leave",
      ]),
    )
    .option("--plan <file>", "for fork: another plan, or - for stdin (default: the plan of the run)")
    .addOption(new Option("--mode <mode>", "for fork: how far the run may go without a person").choices(modes))
    .addHelpText(
      "after",
      helpExample(
        "writ checkpoint list --project website",
        "writ checkpoint diff run_01k2…/edit/before",
        "writ checkpoint restore run_01k2…/edit/before",
        "writ checkpoint fork run_01k2…/edit/after --files leave",
      ),
    );
  return invocation.withAction<CheckpointOptions>(command, ([what = "", at, to], options) => {
    if (to !== undefined && what !== "diff") throw invalidInput(`${what} takes one checkpoint`);
    switch (what) {
      case "list":
        return listCheckpoints(invocation, checkpointOwner(at, options), options);
      case "diff":
        return diffCheckpoints(invocation, parseRef(at), to === undefined ? afterCall(at) : parseRef(to), options);
      case "restore":
        return restoreCheckpoint(invocation, parseRef(at), options);
      default:
        return forkCheckpoint(invocation, parseRef(at), options);
    }
  });
}

function checkpointOwner(runId: string | undefined, { project, session }: CheckpointOptions): StateSelector {
  if (project === undefined && runId !== undefined) return { runId };
  if (project !== undefined && runId === undefined) return { project, ...(session !== undefined && { session }) };
  throw invalidInput("give a run or --project <name>");
}

/** Reads a checkpoint like `run_01k2…/send/before`. Its side is required, because the two differ by the call itself. */
function parseRef(text = ""): CheckpointRef {
  const [, runId, stepId, side] = /^([^/]+)\/(.+)\/(before|after)$/s.exec(text) ?? [];
  if (runId === undefined || stepId === undefined)
    throw invalidInput("give a checkpoint as <run>/<step>/before or <run>/<step>/after; see: writ checkpoint list");
  return { runId, stepId, side: side === "before" ? "before" : "after" };
}

function afterCall(text: string | undefined): CheckpointRef {
  return { ...parseRef(text), side: "after" };
}

function listCheckpoints(invocation: Invocation, owner: StateSelector, options: CheckpointOptions): Promise<ExitCode> {
  return withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person, commandLine }) => {
    const checkpoints = await engine.checkpoints.list({ principal: person, ...owner });
    const last = checkpoints.findLast(({ step_id }) => step_id !== null);
    invocation.terminal.printResult({ checkpoints }, () => [
      ...(checkpoints.length === 0
        ? [line`no call has changed state or files`]
        : checkpointLines(checkpoints, invocation.terminal.style)),
      ...(last === undefined
        ? []
        : [
            line``,
            line`  compare before and after:  ${commandLine("checkpoint", "diff", `${last.run_id}/${last.step_id}/before`)}`,
          ]),
    ]);
    return 0;
  });
}

function checkpointLines(checkpoints: readonly CheckpointView[], style: TextStyle): readonly SafeLine[] {
  return tableLines(
    checkpoints.map(({ version, at, run_id, step_id, tool, type, changes, files }) => [
      line`${run_id}${step_id === null ? "" : `/${step_id}`}`,
      line`${timeText(at, style)}`,
      line`${tool ?? type}`,
      line`version ${version}`,
      line`${changes} changes`,
      line`${files} files`,
    ]),
  );
}

function diffCheckpoints(
  invocation: Invocation,
  from: CheckpointRef,
  to: CheckpointRef,
  options: CheckpointOptions,
): Promise<ExitCode> {
  return withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
    const diff = await engine.checkpoints.diff(from, to, { principal: person });
    invocation.terminal.printResult(diff, () => diffLines(diff));
    return 0;
  });
}

function diffLines({ state, files }: CheckpointDiff): readonly SafeLine[] {
  const lines = [
    ...state.map(
      ({ path, before, after }) => line`${path}: ${shortValue(before ?? null)} → ${shortValue(after ?? null)}`,
    ),
    ...fileLines(files),
  ];
  return lines.length === 0 ? [line`state and files are the same`] : lines;
}

function fileLines(files: Readonly<Record<string, readonly ResourceChange[]>>): readonly SafeLine[] {
  return Object.entries(files).flatMap(([name, changes]) =>
    changes.map(({ path, change }) => line`${name}: ${path} ${change}`),
  );
}

function restoreCheckpoint(invocation: Invocation, at: CheckpointRef, options: CheckpointOptions): Promise<ExitCode> {
  return withEngine(invocation, options, { work: "no", needs: "tools" }, async ({ engine, person }) => {
    const { reason, logs } = options;
    const restored = await engine.checkpoints.restore(at, {
      principal: person,
      ...(reason !== undefined && { reason }),
      ...(logs && { preserveLogs: false }),
    });
    const { files, changes, version } = restored;
    invocation.terminal.printResult(restored, () => [
      line`state: ${changes} changes, now version ${version}`,
      line`files: ${files.restored} restored, ${files.created} created again, ${files.removed} removed`,
    ]);
    return 0;
  });
}

/** Forks a run. This process executes the fork, unless another executes the store: then it waits for that one. */
async function forkCheckpoint(
  invocation: Invocation,
  at: CheckpointRef,
  options: CheckpointOptions,
): Promise<ExitCode> {
  const { files, mode } = options;
  const plan = options.plan === undefined ? {} : { plan: await readPlanFile(options.plan, invocation.host) };
  return withEngine(invocation, options, { work: "if_free", needs: "tools" }, async (opened: OpenedEngine) => {
    const { engine, person } = opened;
    const isExecuted = opened.works || opened.isExecuted() === true;
    const terms = { ...plan, ...(files !== undefined && { files }), ...(mode !== undefined && { mode }) };
    const handle = await engine.checkpoints.fork(at, { principal: person, ...terms });
    const result = isExecuted
      ? await followRun(invocation, opened, handle, { stay: false, after: 0 })
      : { ...(await handle.now()), executing: opened.isExecuted() };
    await printRun(invocation, opened, result);
    return exitCodeOfStatus(result.status);
  });
}
