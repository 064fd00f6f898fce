import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { approveCommand } from "./commands/approve.ts";
import { auditCommand } from "./commands/audit.ts";
import { backupCommand } from "./commands/backup.ts";
import { budgetCommand } from "./commands/budget.ts";
import { cancelCommand } from "./commands/cancel.ts";
import { checkCommand } from "./commands/check.ts";
import { checkpointCommand } from "./commands/checkpoint.ts";
import { costCommand } from "./commands/cost.ts";
import { crashtestCommand } from "./commands/crashtest.ts";
import { crashtestCallCommand } from "./commands/crashtest-call.ts";
import { demoCommand } from "./commands/demo.ts";
import { eventsCommand } from "./commands/events.ts";
import { explainCommand } from "./commands/explain.ts";
import { exportCommand } from "./commands/export.ts";
import { gatesCommand } from "./commands/gates.ts";
import { haltCommand } from "./commands/halt.ts";
import { haltsCommand } from "./commands/halts.ts";
import { initCommand } from "./commands/init.ts";
import { liftCommand } from "./commands/lift.ts";
import { migrateCommand } from "./commands/migrate.ts";
import { policyCommand } from "./commands/policy.ts";
import { projectCommand } from "./commands/project.ts";
import { rejectCommand } from "./commands/reject.ts";
import { resolveCommand } from "./commands/resolve.ts";
import { restoreCommand } from "./commands/restore.ts";
import { resumeCommand } from "./commands/resume.ts";
import { retainCommand } from "./commands/retain.ts";
import { runCommand } from "./commands/run.ts";
import { runsCommand } from "./commands/runs.ts";
import { scheduleCommand } from "./commands/schedule.ts";
import { schedulesCommand } from "./commands/schedules.ts";
import { showCommand } from "./commands/show.ts";
import { signalCommand } from "./commands/signal.ts";
import { simulateCommand } from "./commands/simulate.ts";
import { stateCommand } from "./commands/state.ts";
import { toolsCommand } from "./commands/tools.ts";
import { undoCommand } from "./commands/undo.ts";
import { verifyCommand } from "./commands/verify.ts";
import { workerCommand } from "./commands/worker.ts";
import { workersCommand } from "./commands/workers.ts";
import { type ExitCode, exitCodeOfFault, exitCodes } from "./exit-code.ts";
import { faultFromError } from "./fault-from-error.ts";
import { addValue, helpExample, Invocation } from "./invocation.ts";
import type { ProgramHost } from "./program-host.ts";
import { Terminal } from "./terminal.ts";

/** Runs one command line and returns its exit code. Never throws: every error is printed, as text or as JSON. */
export async function runCommandLine(host: ProgramHost): Promise<ExitCode> {
  // Read before parsing, because an error of the parser must also be printed as JSON if --json is given.
  const terminal = new Terminal(host, hasFlag(host, "--json"));
  const invocation = new Invocation(host, terminal);
  try {
    await createProgram(invocation).parseAsync([...host.args], { from: "user" });
    return invocation.exit;
  } catch (error) {
    return reportError(terminal, error, hasFlag(host, "--debug"));
  }
}

function hasFlag({ args }: ProgramHost, flag: string): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end < 0 ? args.length : end).includes(flag);
}

const commands = [
  runCommand,
  workerCommand,
  workersCommand,
  approveCommand,
  rejectCommand,
  gatesCommand,
  showCommand,
  eventsCommand,
  runsCommand,
  resolveCommand,
  resumeCommand,
  cancelCommand,
  undoCommand,
  verifyCommand,
  haltCommand,
  liftCommand,
  haltsCommand,
  signalCommand,
  scheduleCommand,
  schedulesCommand,
  explainCommand,
  exportCommand,
  stateCommand,
  checkCommand,
  policyCommand,
  projectCommand,
  checkpointCommand,
  simulateCommand,
  toolsCommand,
  crashtestCommand,
  auditCommand,
  costCommand,
  budgetCommand,
  retainCommand,
  backupCommand,
  restoreCommand,
  migrateCommand,
  initCommand,
  demoCommand,
];

export function createProgram(invocation: Invocation): Command {
  const { host, terminal } = invocation;
  const program = new Command("writ")
    .description("Runs what AI agents propose: each act once, on the record, with a person at the gate.")
    .usage("<command> [options]")
    .version(version())
    .option("--json", "print one JSON document on stdout")
    .option("--config <path>", "config file (default: writ.config.mjs or writ.config.ts in this directory)")
    .option("--store <path>", "path of the store, or a Postgres URL (default: the config's store, else writ.db)")
    .option("--as <id>", "your id (default: your user name); run submits as the config's principal")
    .option("--role <name>", "a role of yours; may be repeated", addValue)
    .option("--tenant <tenant>", "tenant (default: the tenant of the config's principal, else default)")
    .option("--debug", "also print the stack of an error")
    .configureHelp({ showGlobalOptions: true, helpWidth: 100 })
    .addHelpText(
      "after",
      `${exitCodesHelp()}\n${helpExample("writ init", "writ run plan.json", "writ approve gate_01k2…")}`,
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.printHelp(text),
      writeErr: (text) => void (terminal.json || host.stderr.write(text)),
      // `reportError` prints it like every other fault.
      outputError: () => {},
    })
    .helpCommand(false);
  for (const command of commands) program.addCommand(command(invocation).copyInheritedSettings(program));
  program.addCommand(crashtestCallCommand(invocation).copyInheritedSettings(program), { hidden: true });
  return program;
}

function version(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}

function exitCodesHelp(): string {
  const lines = Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return `\nExit codes:\n${lines.join("\n")}`;
}

function reportError(terminal: Terminal, error: unknown, debug: boolean): ExitCode {
  if (error instanceof CommanderError) return reportUsageError(terminal, error);
  if (debug) terminal.printStack(error);
  const fault = faultFromError(error);
  if (fault !== null) {
    terminal.printFault(fault);
    return exitCodeOfFault(fault.code);
  }
  const what = error instanceof Error ? error.message : String(error);
  terminal.printFault({
    code: "INTERNAL",
    message: `this is a bug: ${what}; run it again with --debug and report the output`,
  });
  return 1;
}

/** A request for help is not an error; every other error of commander is invalid input. */
function reportUsageError(terminal: Terminal, { code, exitCode, message }: CommanderError): ExitCode {
  if (exitCode === 0) return 0;
  const isEmpty = code === "commander.help";
  const what = isEmpty ? "no command was given" : message.replace(/^error: /, "").replaceAll("\n", " ");
  terminal.printFault({ code: "INVALID_INPUT", message: `${what}; see: writ --help` });
  return 2;
}
