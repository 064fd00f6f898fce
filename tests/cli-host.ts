import { PassThrough, Writable } from "node:stream";
import type { Host } from "../src/cli/host.ts";
import { Invocation } from "../src/cli/invocation.ts";
import { programOf, runProgram } from "../src/cli/program.ts";
import { Terminal } from "../src/cli/terminal.ts";

export interface Answer {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the program in this process, with no terminal, and hands back everything it said. */
export async function told(cwd: string, ...args: readonly string[]): Promise<Answer> {
  const out = listener(false);
  const err = listener(false);
  const exit = await runProgram(
    hostOf(cwd, args, { stdin: new PassThrough(), stdout: out.stream, stderr: err.stream }),
  );
  return { exit, out: out.heard(), err: err.heard() };
}

/** The program at a terminal, where someone has typed ahead. */
export interface AtTerminal {
  /** Everything on the screen when it first matched. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  readonly ended: Promise<{ readonly exit: number; readonly screen: string }>;
}

export function atTerminal(
  cwd: string,
  args: readonly string[],
  { typed = "", env = {} }: { readonly typed?: string; readonly env?: Host["env"] } = {},
): AtTerminal {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.write(typed);
  const screen = listener(true);
  const host = hostOf(cwd, args, { stdin, stdout: screen.stream, stderr: screen.stream });
  const ended = runProgram({ ...host, env }).then((exit) => ({ exit, screen: screen.heard() }));
  return { until: screen.until, ended };
}

/** The names of all commands that are for people. */
export function commandNames(): readonly string[] {
  const { stream } = listener(false);
  const host = hostOf("", [], { stdin: new PassThrough(), stdout: stream, stderr: stream });
  const program = programOf(new Invocation(host, new Terminal(host, false)));
  return program
    .createHelp()
    .visibleCommands(program)
    .map((command) => command.name());
}

function hostOf(cwd: string, args: readonly string[], streams: Pick<Host, "stdin" | "stdout" | "stderr">): Host {
  return { args, cwd, env: {}, ...streams, user: "ana", self: "writ", program: [], onInterrupt: () => () => {} };
}

function listener(isTTY: boolean) {
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
  return { stream: Object.assign(new Writable({ write }), { isTTY }), heard: () => text, until };
}
