import { PassThrough, Writable } from "node:stream";
import { Invocation } from "../../src/cli/invocation.ts";
import { createProgram, runCommandLine } from "../../src/cli/program.ts";
import type { ProgramProcess } from "../../src/cli/program-process.ts";
import { Terminal } from "../../src/cli/terminal.ts";

export interface CliOutput {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the program in this process, without a terminal, and returns its exit code and output. */
export async function runCli(cwd: string, ...args: readonly string[]): Promise<CliOutput> {
  const out = capturingStream(false);
  const err = capturingStream(false);
  const exit = await runCommandLine(
    testHost(cwd, args, { stdin: new PassThrough(), stdout: out.stream, stderr: err.stream }),
  );
  return { exit, out: out.text(), err: err.text() };
}

/** Runs the program like `runCli`, with a text on stdin. */
export async function runCliWithInput(cwd: string, input: string, ...args: readonly string[]): Promise<CliOutput> {
  const out = capturingStream(false);
  const err = capturingStream(false);
  const stdin = new PassThrough();
  stdin.end(input);
  const exit = await runCommandLine(testHost(cwd, args, { stdin, stdout: out.stream, stderr: err.stream }));
  return { exit, out: out.text(), err: err.text() };
}

/** Runs the program like `runCli`, with an environment and a text on stdin. */
export async function runCliIn(
  cwd: string,
  { env = {}, input = "" }: { readonly env?: ProgramProcess["env"]; readonly input?: string },
  ...args: readonly string[]
): Promise<CliOutput> {
  const out = capturingStream(false);
  const err = capturingStream(false);
  const stdin = new PassThrough();
  stdin.end(input);
  const host = testHost(cwd, args, { stdin, stdout: out.stream, stderr: err.stream });
  const exit = await runCommandLine({ ...host, env });
  return { exit, out: out.text(), err: err.text() };
}

/** The program at a terminal, with input that was typed before. */
export interface TerminalSession {
  /** Waits until the text on the screen matches. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  readonly ended: Promise<{ readonly exit: number; readonly screen: string }>;
}

export function runCliAtTerminal(
  cwd: string,
  args: readonly string[],
  { typed = "", env = {} }: { readonly typed?: string; readonly env?: ProgramProcess["env"] } = {},
): TerminalSession {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.write(typed);
  const screen = capturingStream(true);
  const host = testHost(cwd, args, { stdin, stdout: screen.stream, stderr: screen.stream });
  const ended = runCommandLine({ ...host, env }).then((exit) => ({ exit, screen: screen.text() }));
  return { until: screen.until, ended };
}

/** Returns the names of the commands that the help lists. */
export async function commandNames(): Promise<readonly string[]> {
  const { stream } = capturingStream(false);
  const host = testHost("", [], { stdin: new PassThrough(), stdout: stream, stderr: stream });
  const program = await createProgram(new Invocation(host, new Terminal(host, false)), null);
  return program
    .createHelp()
    .visibleCommands(program)
    .map((command) => command.name());
}

function testHost(
  cwd: string,
  args: readonly string[],
  streams: Pick<ProgramProcess, "stdin" | "stdout" | "stderr">,
): ProgramProcess {
  return {
    args,
    cwd,
    env: {},
    ...streams,
    user: "ana",
    zone: "UTC",
    self: "writ",
    program: [],
    onInterrupt: () => () => {},
  };
}

function capturingStream(isTTY: boolean) {
  let text = "";
  const waiting = new Set<() => void>();
  const write = (chunk: unknown, _: unknown, done: () => void): void => {
    text += String(chunk);
    for (const look of waiting) look();
    done();
  };
  const until = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve) => {
      const look = (): void => {
        const match = pattern.exec(text);
        if (match === null) return;
        waiting.delete(look);
        resolve(match);
      };
      waiting.add(look);
      look();
    });
  return { stream: Object.assign(new Writable({ write }), { isTTY }), text: () => text, until };
}
