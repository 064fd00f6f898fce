import { type Command, InvalidArgumentError } from "commander";
import { FaultError, fault } from "../core/values/fault.ts";
import type { ExitCode } from "./exit-code.ts";
import type { ProgramProcess } from "./program-process.ts";
import type { Terminal } from "./terminal.ts";

/** The options that every command takes. */
export interface GlobalOptions {
  readonly config?: string;
  readonly store?: string;
  /** The address of a server that has the store. */
  readonly server?: string;
  readonly as?: string;
  readonly tenant?: string;
  readonly role?: readonly string[];
}

export type CommandAction<Options> = (args: readonly string[], options: Options & GlobalOptions) => Promise<ExitCode>;

/** One call of the program: its host, its terminal and its exit code. */
export class Invocation {
  readonly host: ProgramProcess;
  readonly terminal: Terminal;
  exit: ExitCode = 0;

  constructor(host: ProgramProcess, terminal: Terminal) {
    this.host = host;
    this.terminal = terminal;
  }

  /** Gives a command its action, whose result becomes the exit code of the program. */
  withAction<Options = object>(command: Command, action: CommandAction<Options>): Command {
    return command.action(async () => {
      this.exit = await action(command.processedArgs, command.optsWithGlobals<Options & GlobalOptions>());
    });
  }
}

/** Adds the value of an option that may be repeated. */
export function addValue(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** Returns the example at the end of a help text. */
export function helpExample(...lines: readonly string[]): string {
  return `\nExample:\n${lines.map((text) => `  $ ${text}`).join("\n")}`;
}

export function parseWholeNumber(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("It must be a whole number.");
}

export function parseInteger(text: string): number {
  return text.startsWith("-") ? -parseWholeNumber(text.slice(1)) : parseWholeNumber(text);
}

export function parsePositiveNumber(text: string): number {
  const value = parseWholeNumber(text);
  if (value > 0) return value;
  throw new InvalidArgumentError("It must be at least 1.");
}

/** Reads the number of a port; 0 means a free one. */
export function parsePort(text: string): number {
  const port = parseWholeNumber(text);
  if (port < 65_536) return port;
  throw new InvalidArgumentError("It must be below 65536.");
}

export function invalidInput(message: string): FaultError {
  return new FaultError(fault("INVALID_INPUT", message));
}
