import type { Reason } from "../core/json/problem-list.ts";
import type { Fault, FaultCode } from "../core/values/fault.ts";
import { isJsonObject, type Json } from "../core/values/json.ts";
import { escapeControls } from "./escape-controls.ts";
import type { ProgramProcess } from "./program-process.ts";
import { line, type SafeLine } from "./safe-line.ts";
import { type TextStyle, textStyle } from "./text-style.ts";

/** The output of the program: lines for people, or one JSON document for programs. */
export class Terminal {
  readonly json: boolean;
  readonly style: TextStyle;
  readonly #host: ProgramProcess;
  readonly #write: (text: string) => void;

  constructor(host: ProgramProcess, json: boolean) {
    this.json = json;
    this.style = textStyle({ colors: supportsColors(host), host });
    this.#host = host;
    const { stdout, stderr } = host;
    const write = stdout.write.bind(stdout) as (text: string) => boolean;
    this.#write = (text) => void write(text);
    // A tool may print to stdout. With --json that would break the document, so the output of tools goes to stderr.
    if (json) stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  }

  /** True if a person reads the output, so that the command may wait. */
  get isInteractive(): boolean {
    return !this.json && this.#host.stdout.isTTY === true;
  }

  get canAsk(): boolean {
    return this.isInteractive && this.#host.stdin.isTTY === true;
  }

  /** Prints the result of the command, as JSON or as text. */
  printResult(document: unknown, lines: () => readonly SafeLine[]): void {
    if (this.json) this.printJson(document);
    else this.print(...lines());
  }

  /** Prints one JSON document. Control characters are escaped, which does not change its value. */
  printJson(value: unknown): void {
    this.#write(`${escapeControls(JSON.stringify(value))}\n`);
  }

  print(...lines: readonly SafeLine[]): void {
    if (!this.json) for (const { text } of lines) this.#write(`${text}\n`);
  }

  /** Prints progress on stderr; it is not part of the result. */
  note(...lines: readonly SafeLine[]): void {
    if (!this.json) for (const { text } of lines) this.#host.stderr.write(`${text}\n`);
  }

  /** Prints help, always as text. */
  printHelp(text: string): void {
    this.#write(text);
  }

  /** Prints a fault: as JSON on stdout, or as text on stderr. */
  printFault(fault: ShownFault): void {
    if (this.json) this.printJson({ fault });
    else this.note(...faultLines(fault, this.style));
  }

  /** Prints the stack of an error and of its causes, for --debug. */
  printStack(error: unknown): void {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    for (const text of stack.split("\n")) this.#host.stderr.write(`${escapeControls(text)}\n`);
    if (error instanceof Error && error.cause !== undefined) this.printStack(error.cause);
  }
}

function supportsColors({ env, stdout, stderr }: ProgramProcess): boolean {
  return stdout.isTTY === true && stderr.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
}

/** A fault, or INTERNAL for a bug of the program. */
export type ShownFault = Omit<Fault, "code"> & { readonly code: FaultCode | "INTERNAL" };

/** Returns the message of a fault, with a line for each reason if there are several. */
function faultLines({ code, message, detail }: ShownFault, { red }: TextStyle): readonly SafeLine[] {
  const listed = reasonsFromDetail(detail).map(({ path, message: why }) => `${path || "/"}: ${why}`);
  const start = listed.length > 1 ? message.indexOf(listed.join("; ")) : -1;
  const heading = start < 0 ? message : message.slice(0, start).trimEnd();
  return [line`${line`${code}`.painted(red)}: ${heading}`, ...(start < 0 ? [] : listed.map((text) => line`  ${text}`))];
}

function reasonsFromDetail(detail: Json | undefined): readonly Reason[] {
  const reasons = isJsonObject(detail) ? detail.reasons : undefined;
  return Array.isArray(reasons) ? (reasons as unknown as readonly Reason[]) : [];
}
