import { userInfo } from "node:os";
import { relative, sep } from "node:path";
import type { Readable, Writable } from "node:stream";

/** Everything the program takes from the process it runs in, so that a test can be one. */
export interface Host {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Who sits at the terminal. */
  readonly user: string;
  /** What to type to call this program again. */
  readonly self: string;
  /** The command and first arguments that start this program once more. */
  readonly program: readonly string[];
  /** Calls back at most once, when the user asks to stop; a further ask ends the process. */
  onInterrupt(stop: () => void): () => void;
}

export function processHost(): Host {
  const { stdin, stdout, stderr, env } = process;
  const cwd = process.cwd();
  return {
    args: process.argv.slice(2),
    cwd,
    env,
    stdin,
    stdout,
    stderr,
    user: userName(),
    self: selfName(process.argv[1] ?? "writ", cwd),
    program: [process.execPath, ...process.execArgv, ...process.argv.slice(1, 2)],
    onInterrupt: (stop) => {
      process.once("SIGINT", stop).once("SIGTERM", stop);
      return () => process.off("SIGINT", stop).off("SIGTERM", stop);
    },
  };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that has no name.
    return `uid-${process.getuid?.() ?? "unknown"}`;
  }
}

/** An installed package is called through npx; a built checkout by the path of its file. */
export function selfName(script: string, cwd: string): string {
  const installed = script.includes(`${sep}node_modules${sep}`) || !/\.[cm]?js$/.test(script);
  return installed ? "npx writ" : `node ${quoted(relative(cwd, script))}`;
}

/** An argument as a shell takes it back unchanged. */
export function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
