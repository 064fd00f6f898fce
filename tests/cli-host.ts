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
  const out = listener();
  const err = listener();
  const exit = await runProgram(hostOf(cwd, args, out.stream, err.stream));
  return { exit, out: out.heard(), err: err.heard() };
}

/** The names of all commands. */
export function commandNames(): readonly string[] {
  const { stream } = listener();
  const host = hostOf("", [], stream, stream);
  return programOf(new Invocation(host, new Terminal(host, false))).commands.map((command) => command.name());
}

function hostOf(cwd: string, args: readonly string[], stdout: Writable, stderr: Writable): Host {
  const onInterrupt = () => () => {};
  return { args, cwd, env: {}, stdin: new PassThrough(), stdout, stderr, user: "ana", self: "writ", onInterrupt };
}

function listener(): { readonly stream: Writable; readonly heard: () => string } {
  let text = "";
  const stream = new Writable({
    write: (chunk, _, done) => {
      text += String(chunk);
      done();
    },
  });
  return { stream, heard: () => text };
}
