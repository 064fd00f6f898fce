import type { BackupRestore } from "../core/event/backup-restore.ts";
import type { BlockedStep, RunResult } from "../core/run/run-result.ts";
import type { Tool } from "../core/tool/tool.ts";
import type { CommandLine } from "./command-to-paste.ts";
import { exampleToolOutput } from "./example-tool-output.ts";
import type { AdviceFacts } from "./load-advice-facts.ts";
import { line, type SafeLine } from "./safe-line.ts";
import { shortDigest } from "./short-digest.ts";
import type { TextStyle } from "./text-style.ts";
import { timeText } from "./time-text.ts";

export type ShownResult = RunResult & {
  readonly running?: boolean;
  /** Whether a process executes the store; null if that is unknown; absent if this process executed the run. */
  readonly executing?: boolean | null;
};

/** The knowledge and the abilities of this command line. The advice names only commands that work here. */
export interface AdviceContext {
  readonly commandLine: CommandLine;
  /** True if there is a config with tools, so that `resume` executes the run. */
  readonly canExecute: boolean;
  /** The role that lifts a halt, if the config names one. */
  readonly adminRole: string | null;
  /** Returns a tool of the config, or undefined if it is not known here. */
  tool(name: string): Tool | undefined;
}

/** Returns the commands that can move the run now, apart from those that its gates list. */
export function adviceLines(
  result: ShownResult,
  facts: AdviceFacts,
  context: AdviceContext,
  style: TextStyle,
): readonly SafeLine[] {
  const { run_id, blocked_on, next, executing, poison, restored, rules_missing, final } = result;
  const { commandLine } = context;
  if (restored !== undefined) return restoredLines(run_id, restored, commandLine, style);
  if (poison !== undefined) return poisonLines(run_id, poison, commandLine, style);
  if (rules_missing !== undefined) return rulesMissingLines(run_id, rules_missing, commandLine);
  if (final) {
    const resume = next === null ? [] : [line``, line`Fix the cause, then:  ${commandLine("resume", run_id)}`];
    return [...unusableOutputLines(result, facts, context), ...resume];
  }
  const advice = blocked_on.flatMap((blocked) => blockedLines(blocked, result, facts, context, style));
  if (executing !== undefined && executing !== true && continuesByItself(result))
    return [...advice, line``, ...continuationLines(executing, run_id, context)];
  const isExplained =
    advice.length > 0 ||
    blocked_on.some(({ reason_code }) => ["REQUIRES_APPROVAL", "REQUIRES_DATA"].includes(reason_code));
  return isExplained || next === null ? advice : [line``, line`next: ${next}`];
}

/** Returns the commands for one step that waits; none if it waits for a time, for an act or at a gate. */
function blockedLines(
  blocked: BlockedStep,
  { run_id, steps }: ShownResult,
  facts: AdviceFacts,
  context: AdviceContext,
  style: TextStyle,
): readonly SafeLine[] {
  const { step_id, reason_code, halt, signal } = blocked;
  const { commandLine, adminRole } = context;
  switch (reason_code) {
    case "IN_DOUBT": {
      const step = steps[step_id];
      const attempt = step?.state === "in_doubt" ? ["--attempt", `${step.attempt}`] : [];
      return doubtLines(blocked, facts, context, style, (...words) =>
        commandLine("resolve", run_id, step_id, ...words, ...attempt),
      );
    }
    case "HALTED": {
      const scope = halt?.over === "everything" ? ["--everything"] : halt?.over === "tenant" ? [] : [`${halt?.over}`];
      const role = adminRole === null || halt?.over === "everything" ? [] : ["--role", adminRole];
      const reason = halt?.reason === "" ? "" : ` (${halt?.reason})`;
      return [
        line``,
        line`${step_id} waits: ${halt?.by ?? ""} halted ${halt?.over ?? ""}${reason}`,
        line`  lift the halt:  ${commandLine("lift", ...scope, ...role)}`,
      ];
    }
    case "WAITING_FOR_SIGNAL":
      return [
        line``,
        line`${step_id} waits for the signal ${signal ?? ""}`,
        line`  send it:  ${commandLine("signal", signal ?? "")}`,
      ];
    case "WAITING_FOR_RUN":
      return [
        line``,
        line`${step_id} waits for the run ${blocked.run_id ?? ""}`,
        line`  look at it:  ${commandLine("show", blocked.run_id ?? "")}`,
      ];
    case "TOOL_MISSING":
    case "TOOL_CHANGED":
      return [
        line``,
        line`${step_id} waits for a process that has the tool it was accepted with`,
        line`  see who has which tool:        ${commandLine("workers")}`,
        line`  start one, or cancel the run:  ${commandLine("cancel", run_id)}`,
      ];
    case "RULES_ELSEWHERE":
      return rulesElsewhereLines(blocked, run_id, commandLine);
    default:
      return [];
  }
}

/** Says which worker has the tool of a step and which has the rules of its run, and what to do. */
function rulesElsewhereLines(
  { step_id, workers }: BlockedStep,
  run_id: string,
  commandLine: CommandLine,
): readonly SafeLine[] {
  const { with_needs = [], with_rules = [] } = workers ?? {};
  return [
    line``,
    line`${step_id} waits for a process that has both its tool and the rules of the run:`,
    ...with_needs.map((worker) => line`  ${worker} has the tool, and other rules`),
    ...with_rules.map((worker) => line`  ${worker} has the rules, and not the tool`),
    line`Give one of them both, or stop those with the rules: then one with the tool adopts the run.`,
    line`  compare them:      ${commandLine("workers")}`,
    line`  or cancel the run: ${commandLine("cancel", run_id)}`,
  ];
}

/** Says that no live worker has the pinned rules of a run, with the commands to accept other rules or cancel it. */
function rulesMissingLines(
  run_id: string,
  { from, to }: NonNullable<RunResult["rules_missing"]>,
  commandLine: CommandLine,
): readonly SafeLine[] {
  return [
    line``,
    line`Parked: the rules of the run are pinned (${shortDigest(from)}), and no live worker has them; one has ${shortDigest(to)}.`,
    line`Start a worker with the rules of the run, or:`,
    line`  compare the workers:                          ${commandLine("workers")}`,
    line`  continue it under the rules that were found:  ${commandLine("resume", run_id)}`,
    line`  or cancel it:                                 ${commandLine("cancel", run_id)}`,
  ];
}

/** Returns the ways to settle an act in doubt, each with a command that works here. */
function doubtLines(
  { step_id, until }: BlockedStep,
  facts: AdviceFacts,
  context: AdviceContext,
  style: TextStyle,
  resolve: CommandLine,
): readonly SafeLine[] {
  const { tool: name = "", undoes = false, verifies = false } = facts.steps.get(step_id) ?? {};
  const tool = context.tool(name);
  const canUndo = !undoes && tool?.compensate != null && tool.safeIfAbsent;
  return [
    line``,
    line`${step_id} may or may not have happened, and is not repeated on a guess.`,
    until === undefined
      ? line`Find out whether it happened, then run one of:`
      : line`The engine checks again at ${timeText(until, style)}. To decide now, run one of:`,
    line`  it happened${outputNote(undoes ? undefined : tool)}:`,
    line`    ${resolve("--happened", ...outputWords(undoes ? undefined : tool))}`,
    ...(undoes || tool !== undefined ? [] : unknownToolLines(step_id, name)),
    line`  it did not happen, so it runs again:`,
    line`    ${resolve("--absent")}`,
    ...(canUndo ? [line`  undo it, whether or not it happened:`, line`    ${resolve("--undo")}`] : []),
    ...(verifies ? [line`  let its verifier check again:`, line`    ${resolve("--verify")}`] : []),
    line`  give up for good; the step fails, and its outcome stays unknown:`,
    line`    ${resolve("--give-up")}`,
    line`  leave it open: do nothing`,
  ];
}

/** Returns an output that fits the tool, as words of the command; none if the tool is not known here or accepts null. */
function outputWords(tool: Tool | undefined): readonly string[] {
  if (tool === undefined || tool.output.parse(null).ok) return [];
  return ["--output", JSON.stringify(exampleToolOutput(tool.output))];
}

function outputNote(tool: Tool | undefined): string {
  if (tool === undefined) return "";
  return outputWords(tool).length === 0
    ? " (add --output <json> if it has one)"
    : " (replace the output by the real one)";
}

/** Says what `--happened` does without the tool, which alone can check an output. */
function unknownToolLines(step_id: string, tool: string): readonly SafeLine[] {
  return [
    line`    This command line does not know ${tool}, so it cannot check an output: ${step_id} then`,
    line`    fails, until you give --output with a --config that has ${tool}.`,
  ];
}

/** Returns the command that gives the real output of an act whose recorded output cannot be used. */
function unusableOutputLines(
  { run_id, steps }: ShownResult,
  facts: AdviceFacts,
  { commandLine, tool }: AdviceContext,
): readonly SafeLine[] {
  return Object.entries(steps).flatMap(([step_id, { state, fault }]) => {
    const known = tool(facts.steps.get(step_id)?.tool ?? "");
    const isUnusable = state === "failed_final" && fault?.code === "SCHEMA_VALIDATION_FAILED";
    if (!isUnusable || known?.effect !== "acts" || facts.steps.get(step_id)?.undoes === true) return [];
    return [
      line``,
      line`${step_id} happened, and its output cannot be used. Give its real output:`,
      line`  ${commandLine("resolve", run_id, step_id, "--happened", ...outputWords(known))}`,
    ];
  });
}

/** Lists the workers that lost the run, with the running steps, and the commands to resume or cancel it. */
function poisonLines(
  run_id: string,
  { takeovers }: NonNullable<RunResult["poison"]>,
  commandLine: CommandLine,
  style: TextStyle,
): readonly SafeLine[] {
  return [
    line``,
    line`Parked: several workers in a row lost the run, and it made no progress.`,
    ...takeovers.map(
      ({ from, at, position, steps }) =>
        line`  ${from} lost it before ${timeText(at, style)}, at position ${position}; running: ${steps.join(", ")}`,
    ),
    line`Find out why its workers die, then:`,
    line`  continue it:   ${commandLine("resume", run_id)}`,
    line`  or cancel it:  ${commandLine("cancel", run_id)}`,
  ];
}

/** Says why a run of a restored backup waits, with the commands to release or cancel it. */
function restoredLines(
  run_id: string,
  { backup_at }: BackupRestore,
  commandLine: CommandLine,
  style: TextStyle,
): readonly SafeLine[] {
  const which = backup_at === null ? "a backup" : `a backup of ${timeText(backup_at, style)}`;
  return [
    line``,
    line`Parked: the store was restored from ${which}, and what the run did after it is not on record.`,
    line`Check what it did, then:`,
    line`  continue it:   ${commandLine("resume", run_id)}   (a person then approves each act)`,
    line`  or cancel it:  ${commandLine("cancel", run_id)}`,
  ];
}

/** True if the run needs no decision, only a process that executes it. */
function continuesByItself({ running, blocked_on }: ShownResult): boolean {
  return running === true || blocked_on.some(({ until }) => until !== undefined);
}

/** Says which process continues a run, and how to start one. */
export function continuationLines(
  executing: boolean | null,
  run: string,
  { commandLine, canExecute }: Pick<AdviceContext, "commandLine" | "canExecute">,
): readonly SafeLine[] {
  if (executing === true) return [line`The process that executes this store continues the run.`];
  const reason =
    executing === false
      ? "No process executes this store, so the run does not continue."
      : "A process that executes this store continues the run by itself. If there is none:";
  return canExecute
    ? [line`${reason}`, line`  continue it:  ${commandLine("resume", run)}`]
    : [line`${reason}`, line`  start the program that has its tools`];
}
