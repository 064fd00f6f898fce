import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { budgetCommand } from "./commands/budget.ts";
import { checkCommand } from "./commands/check.ts";
import { crashtestCommand } from "./commands/crashtest.ts";
import { crashtestVictimCommand } from "./commands/crashtest-victim.ts";
import { approveCommand, rejectCommand } from "./commands/decide.ts";
import { demoCommand } from "./commands/demo.ts";
import { explainCommand } from "./commands/explain.ts";
import { gatesCommand } from "./commands/gates.ts";
import { goCommand, haltCommand, haltsCommand } from "./commands/halt.ts";
import { initCommand } from "./commands/init.ts";
import { cancelCommand, resumeCommand } from "./commands/life.ts";
import { eventsCommand, runsCommand, showCommand } from "./commands/look.ts";
import { migrateCommand } from "./commands/migrate.ts";
import { policyCommand } from "./commands/policy.ts";
import { projectCommand } from "./commands/project.ts";
import { auditCommand, costCommand, retainCommand } from "./commands/record.ts";
import { resolveCommand } from "./commands/resolve.ts";
import { runCommand } from "./commands/run.ts";
import { scheduleCommand, schedulesCommand } from "./commands/schedule.ts";
import { signalCommand } from "./commands/signal.ts";
import { simulateCommand } from "./commands/simulate.ts";
import { stateCommand } from "./commands/state.ts";
import { toolsCommand } from "./commands/tools.ts";
import { undoCommand } from "./commands/undo.ts";
import { workerCommand } from "./commands/worker.ts";
import { workersCommand } from "./commands/workers.ts";
import { type ExitCode, exitCodes, exitOfFault } from "./exit-code.ts";
import { faultIn } from "./foreign-fault.ts";
import type { Host } from "./host.ts";
import { example, Invocation } from "./invocation.ts";
import { Terminal } from "./terminal.ts";

/** Runs one command line and answers what to exit with. Never throws: whatever happens is told in the asked form. */
export async function runProgram(host: Host): Promise<ExitCode> {
  // Looked for before parsing, because a command line that cannot be parsed must be answered in the asked form too.
  const terminal = new Terminal(host, isAsked(host, "--json"));
  const invocation = new Invocation(host, terminal);
  try {
    await programOf(invocation).parseAsync([...host.args], { from: "user" });
    return invocation.exit;
  } catch (error) {
    return told(terminal, error, isAsked(host, "--debug"));
  }
}

function isAsked({ args }: Host, flag: string): boolean {
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
  haltCommand,
  goCommand,
  haltsCommand,
  signalCommand,
  scheduleCommand,
  schedulesCommand,
  explainCommand,
  stateCommand,
  checkCommand,
  policyCommand,
  projectCommand,
  simulateCommand,
  toolsCommand,
  crashtestCommand,
  auditCommand,
  costCommand,
  budgetCommand,
  retainCommand,
  migrateCommand,
  initCommand,
  demoCommand,
];

export function programOf(invocation: Invocation): Command {
  const { host, terminal } = invocation;
  const program = new Command("writ")
    .description("Run what agents propose: once, on the record, with a person at the gate.")
    .usage("<command> [options]")
    .version(version())
    .option("--json", "answer with one JSON document on stdout")
    .option("--config <path>", "the config (default: writ.config.mjs here)")
    .option("--store <path>", "the store, or its Postgres URL (default: what the config says, else writ.db)")
    .option("--as <id>", "who you are (default: your user name); run acts as the config's principal")
    .option("--tenant <tenant>", "the tenant (default: the one of the config's principal, else default)")
    .option("--debug", "show where an error came from")
    .configureHelp({ showGlobalOptions: true, helpWidth: 100 })
    .addHelpText("after", `${exitText()}\n${example("writ init", "writ run plan.json", "writ approve gate_01k2…")}`)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.usage(text),
      writeErr: (text) => void (terminal.json || host.stderr.write(text)),
      // Told with every other fault, in one form.
      outputError: () => {},
    })
    .helpCommand(false);
  for (const command of commands) program.addCommand(command(invocation).copyInheritedSettings(program));
  program.addCommand(crashtestVictimCommand(invocation).copyInheritedSettings(program), { hidden: true });
  return program;
}

function version(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}

function exitText(): string {
  const lines = Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return `\nExit codes:\n${lines.join("\n")}`;
}

function told(terminal: Terminal, error: unknown, debug: boolean): ExitCode {
  if (error instanceof CommanderError) return toldUsage(terminal, error);
  if (debug) terminal.trace(error);
  const fault = faultIn(error);
  if (fault !== null) {
    terminal.fault(fault);
    return exitOfFault(fault.code);
  }
  const what = error instanceof Error ? error.message : String(error);
  terminal.fault({
    code: "INTERNAL",
    message: `this is a bug: ${what}; run it again with --debug and report what it says`,
  });
  return 1;
}

/** Help that was asked for is an answer; everything else that commander objects to is invalid input. */
function toldUsage(terminal: Terminal, { code, exitCode, message }: CommanderError): ExitCode {
  if (exitCode === 0) return 0;
  const isEmpty = code === "commander.help";
  const what = isEmpty ? "no command was given" : message.replace(/^error: /, "").replaceAll("\n", " ");
  terminal.fault({ code: "INVALID_INPUT", message: `${what}; see: writ --help` });
  return 2;
}
