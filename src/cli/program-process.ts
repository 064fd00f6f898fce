import { userInfo } from "node:os";
import { relative, sep } from "node:path";
import type { Readable, Writable } from "node:stream";

/** The process that the program runs in, as an interface that a test can implement. */
export interface ProgramProcess {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** The user name of the person at the terminal. */
  readonly user: string;
  /** The IANA name of the time zone in which times are printed. */
  readonly zone: string;
  /** The command that a person types to call this program. */
  readonly self: string;
  /** The executable and the first arguments that start this program again. */
  readonly program: readonly string[];
  /** Calls `stop` at the first interrupt; a second one ends the process. Returns a function that removes the listener. */
  onInterrupt(stop: () => void): () => void;
}

export function processHost(): ProgramProcess {
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
    // Read when a time is printed: it takes longer than to load most commands.
    get zone() {
      return new Intl.DateTimeFormat().resolvedOptions().timeZone;
    },
    self: programCommand(process.argv[1] ?? "writ", cwd),
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
    // In a container the user may have a number without a name.
    return `uid-${process.getuid?.() ?? "unknown"}`;
  }
}

/** An installed package is called through npx; a built checkout by the path of its file. */
export function programCommand(script: string, cwd: string): string {
  const installed = script.includes(`${sep}node_modules${sep}`) || !/\.[cm]?js$/.test(script);
  return installed ? "npx writ" : `node ${shellQuoted(relative(cwd, script))}`;
}

/** Quotes an argument so that a shell passes it on unchanged. */
export function shellQuoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
