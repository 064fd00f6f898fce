import { Command, CommanderError } from "commander";
import { writVersion } from "../core/values/writ-version.ts";
import { type ExitCode, exitCodeOfFault, exitCodes } from "./exit-code.ts";
import { faultFromError } from "./fault-from-error.ts";
import { addValue, helpExample, Invocation } from "./invocation.ts";
import type { ProgramProcess } from "./program-process.ts";
import { Terminal } from "./terminal.ts";

/** Runs one command line and returns its exit code. Never throws: every error is printed, as text or as JSON. */
export async function runCommandLine(host: ProgramProcess): Promise<ExitCode> {
  // Read before parsing, because an error of the parser must also be printed as JSON if --json is given.
  const terminal = new Terminal(host, hasFlag(host, "--json"));
  const invocation = new Invocation(host, terminal);
  const helped = calledCommand(host);
  try {
    const program = await createProgram(invocation, helped);
    await program.parseAsync([...host.args], { from: "user" });
    return invocation.exit;
  } catch (error) {
    return reportError(terminal, error, { debug: hasFlag(host, "--debug"), helped });
  }
}

function hasFlag({ args }: ProgramProcess, flag: string): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end < 0 ? args.length : end).includes(flag);
}

type MakeCommand = (invocation: Invocation) => Command;

/** The commands by name and alias, each loaded when it is called: most of the code of the others is not needed. */
const commands: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  run: async () => (await import("./commands/run.ts")).runCommand,
  worker: async () => (await import("./commands/worker.ts")).workerCommand,
  workers: async () => (await import("./commands/workers.ts")).workersCommand,
  approve: async () => (await import("./commands/approve.ts")).approveCommand,
  reject: async () => (await import("./commands/reject.ts")).rejectCommand,
  gates: async () => (await import("./commands/gates.ts")).gatesCommand,
  doubts: async () => (await import("./commands/doubts.ts")).doubtsCommand,
  show: async () => (await import("./commands/show.ts")).showCommand,
  events: async () => (await import("./commands/events.ts")).eventsCommand,
  runs: async () => (await import("./commands/runs.ts")).runsCommand,
  resolve: async () => (await import("./commands/resolve.ts")).resolveCommand,
  resume: async () => (await import("./commands/resume.ts")).resumeCommand,
  cancel: async () => (await import("./commands/cancel.ts")).cancelCommand,
  undo: async () => (await import("./commands/undo.ts")).undoCommand,
  verify: async () => (await import("./commands/verify.ts")).verifyCommand,
  halt: async () => (await import("./commands/halt.ts")).haltCommand,
  lift: async () => (await import("./commands/lift.ts")).liftCommand,
  halts: async () => (await import("./commands/halts.ts")).haltsCommand,
  signal: async () => (await import("./commands/signal.ts")).signalCommand,
  schedule: async () => (await import("./commands/schedule.ts")).scheduleCommand,
  schedules: async () => (await import("./commands/schedules.ts")).schedulesCommand,
  explain: async () => (await import("./commands/explain.ts")).explainCommand,
  export: async () => (await import("./commands/export.ts")).exportCommand,
  state: async () => (await import("./commands/state.ts")).stateCommand,
  check: async () => (await import("./commands/check.ts")).checkCommand,
  policy: async () => (await import("./commands/policy.ts")).policyCommand,
  project: async () => (await import("./commands/project.ts")).projectCommand,
  checkpoint: async () => (await import("./commands/checkpoint.ts")).checkpointCommand,
  simulate: async () => (await import("./commands/simulate.ts")).simulateCommand,
  tools: async () => (await import("./commands/tools.ts")).toolsCommand,
  crashtest: async () => (await import("./commands/crashtest.ts")).crashtestCommand,
  audit: async () => (await import("./commands/audit.ts")).auditCommand,
  cost: async () => (await import("./commands/cost.ts")).costCommand,
  budget: async () => (await import("./commands/budget.ts")).budgetCommand,
  retain: async () => (await import("./commands/retain.ts")).retainCommand,
  forget: async () => (await import("./commands/forget.ts")).forgetCommand,
  backup: async () => (await import("./commands/backup.ts")).backupCommand,
  restore: async () => (await import("./commands/restore.ts")).restoreCommand,
  migrate: async () => (await import("./commands/migrate.ts")).migrateCommand,
  doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
  open: async () => (await import("./commands/open.ts")).openCommand,
  serve: async () => (await import("./commands/serve.ts")).serveCommand,
  keys: async () => (await import("./commands/keys.ts")).keysCommand,
  mcp: async () => (await import("./commands/mcp.ts")).mcpCommand,
  init: async () => (await import("./commands/init.ts")).initCommand,
  demo: async () => (await import("./commands/demo.ts")).demoCommand,
};

const aliases: Readonly<Record<string, string>> = { deny: "reject", go: "lift" };

/** The global options that are followed by a value. */
const optionsWithValue: readonly string[] = ["--config", "--store", "--server", "--as", "--role", "--tenant"];

/** Returns the name of the command that the arguments call, or null if they call none that is known. */
function calledCommand({ args }: ProgramProcess): string | null {
  const at = args.findIndex((arg, index) => !arg.startsWith("-") && !optionsWithValue.includes(args[index - 1] ?? ""));
  const name = args[at] ?? "";
  const named = aliases[name] ?? name;
  return named === hiddenCommand || Object.hasOwn(commands, named) ? named : null;
}

const hiddenCommand = "crashtest-call";

/** Creates the program with one command, or with all of them if the called command is unknown or help is wanted. */
export async function createProgram(invocation: Invocation, called: string | null): Promise<Command> {
  const { host, terminal } = invocation;
  const program = new Command("writ")
    .description("Runs what AI agents propose: each act once, on the record, with a person at the gate.")
    .usage("<command> [options]")
    .version(writVersion)
    .option("--json", "print one JSON document on stdout")
    .option("--config <path>", "config file (default: writ.config.mjs or writ.config.ts in this directory)")
    .option("--store <path>", "path of the store, or a Postgres URL (default: the config's store, else writ.db)")
    .option("--server <url>", "use the store of this server; needs a token in WRIT_TOKEN (default: WRIT_SERVER)")
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
  const add = async (load: () => Promise<MakeCommand>, hidden: boolean) =>
    program.addCommand((await load())(invocation).copyInheritedSettings(program), { hidden });
  const shown = called === null ? Object.values(commands) : [commands[called]];
  for (const load of shown) if (load !== undefined) await add(load, false);
  if (called === null || called === hiddenCommand)
    await add(async () => (await import("./commands/crashtest-call.ts")).crashtestCallCommand, true);
  return program;
}

function exitCodesHelp(): string {
  const lines = Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return `\nExit codes:\n${lines.join("\n")}`;
}

interface ReportTerms {
  readonly debug: boolean;
  /** The command whose help explains the usage. Null: no command was named. */
  readonly helped: string | null;
}

function reportError(terminal: Terminal, error: unknown, { debug, helped }: ReportTerms): ExitCode {
  if (error instanceof CommanderError) return reportUsageError(terminal, error, helped);
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
function reportUsageError(
  terminal: Terminal,
  { code, exitCode, message }: CommanderError,
  helped: string | null,
): ExitCode {
  if (exitCode === 0) return 0;
  const isEmpty = code === "commander.help";
  const what = isEmpty ? "no command was given" : message.replace(/^error: /, "").replaceAll("\n", " ");
  const help = helped === null ? "writ --help" : `writ ${helped} --help`;
  terminal.printFault({ code: "INVALID_INPUT", message: `${what.replace(/\.$/, "")}; see: ${help}` });
  return 2;
}
