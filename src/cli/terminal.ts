import picocolors from "picocolors";
import type { Fault, FaultCode } from "../core/fault.ts";
import { isObject, type Json } from "../core/json/json.ts";
import type { Reason } from "../core/json/reasons.ts";
import type { Host } from "./host.ts";
import { type Line, line } from "./line.ts";
import { neutral } from "./neutral-text.ts";

export type Paint = ReturnType<typeof picocolors.createColors>;

/** Where answers go: lines for people, or one JSON document for programs. */
export class Terminal {
  readonly json: boolean;
  readonly paint: Paint;
  readonly #host: Host;
  readonly #write: (text: string) => void;

  constructor(host: Host, json: boolean) {
    this.json = json;
    this.paint = picocolors.createColors(hasColours(host));
    this.#host = host;
    const { stdout, stderr } = host;
    const write = stdout.write.bind(stdout) as (text: string) => boolean;
    this.#write = (text) => void write(text);
    // A tool may print. In a document that programs read, its words would be noise, so they go where people look.
    if (json) stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  }

  /** Someone is looking, and can be kept waiting. */
  get isWatched(): boolean {
    return !this.json && this.#host.stdout.isTTY === true;
  }

  get canAsk(): boolean {
    return this.isWatched && this.#host.stdin.isTTY === true;
  }

  /** The answer to the command, in the form that was asked for. */
  answer(document: unknown, lines: () => readonly Line[]): void {
    if (this.json) this.document(document);
    else this.say(...lines());
  }

  /** For programs: escaped like everything else, which in JSON changes nothing. */
  document(value: unknown): void {
    this.#write(`${neutral(JSON.stringify(value))}\n`);
  }

  say(...lines: readonly Line[]): void {
    if (!this.json) for (const { text } of lines) this.#write(`${text}\n`);
  }

  /** What is worth knowing on the way; not part of the answer. */
  note(...lines: readonly Line[]): void {
    if (!this.json) for (const { text } of lines) this.#host.stderr.write(`${text}\n`);
  }

  /** Help: our own words, already laid out, and text whatever form was asked for. */
  usage(text: string): void {
    this.#write(text);
  }

  /** What went wrong: for programs on stdout like every answer, for people beside it. */
  fault(fault: ShownFault): void {
    if (this.json) this.document({ fault });
    else this.note(...faultLines(fault, this.paint));
  }

  /** Only with --debug: where it happened. */
  trace(error: unknown): void {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    for (const text of stack.split("\n")) this.#host.stderr.write(`${neutral(text)}\n`);
    if (error instanceof Error && error.cause !== undefined) this.trace(error.cause);
  }
}

function hasColours({ env, stdout, stderr }: Host): boolean {
  return stdout.isTTY === true && stderr.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
}

/** A fault, or the admission that something happened that should not be possible. */
export type ShownFault = Omit<Fault, "code"> & { readonly code: FaultCode | "INTERNAL" };

/** A message that lists several reasons becomes a heading with a line for each. */
function faultLines({ code, message, detail }: ShownFault, { red }: Paint): readonly Line[] {
  const listed = reasonsIn(detail).map(({ path, message: why }) => `${path || "/"}: ${why}`);
  const start = listed.length > 1 ? message.indexOf(listed.join("; ")) : -1;
  const heading = start < 0 ? message : message.slice(0, start).trimEnd();
  return [line`${line`${code}`.painted(red)}: ${heading}`, ...(start < 0 ? [] : listed.map((text) => line`  ${text}`))];
}

function reasonsIn(detail: Json | undefined): readonly Reason[] {
  const reasons = isObject(detail) ? detail.reasons : undefined;
  return Array.isArray(reasons) ? (reasons as unknown as readonly Reason[]) : [];
}
