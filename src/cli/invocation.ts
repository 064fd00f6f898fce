import { type Command, InvalidArgumentError } from "commander";
import { FaultError, fault } from "../core/fault.ts";
import type { ExitCode } from "./exit-code.ts";
import type { Host } from "./host.ts";
import type { Terminal } from "./terminal.ts";

/** The options that every command takes. */
export interface GlobalOptions {
  readonly config?: string;
  readonly store?: string;
  readonly as?: string;
  readonly tenant?: string;
}

export type Work<Options> = (args: readonly string[], options: Options & GlobalOptions) => Promise<ExitCode>;

/** One call of the program: where it reads and writes, and what it will exit with. */
export class Invocation {
  readonly host: Host;
  readonly terminal: Terminal;
  exit: ExitCode = 0;

  constructor(host: Host, terminal: Terminal) {
    this.host = host;
    this.terminal = terminal;
  }

  /** Makes a command's work its action; what the work answers is what the program exits with. */
  does<Options = object>(command: Command, work: Work<Options>): Command {
    return command.action(async () => {
      this.exit = await work(command.processedArgs, command.optsWithGlobals<Options & GlobalOptions>());
    });
  }
}

/** The end of every help text: how it is used, literally. */
export function example(...lines: readonly string[]): string {
  return `\nExample:\n${lines.map((text) => `  $ ${text}`).join("\n")}`;
}

/** For options that count something. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("It must be a whole number.");
}

export function integer(text: string): number {
  return text.startsWith("-") ? -wholeNumber(text.slice(1)) : wholeNumber(text);
}

export function positiveNumber(text: string): number {
  const value = wholeNumber(text);
  if (value > 0) return value;
  throw new InvalidArgumentError("It must be at least 1.");
}

export function invalid(message: string): FaultError {
  return new FaultError(fault("INVALID_INPUT", message));
}
