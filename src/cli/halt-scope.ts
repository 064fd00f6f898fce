import type { Halt } from "../core/store/tables.ts";
import type { PrincipalInput } from "../engine/api/principal-input.ts";
import { line, type SafeLine, tableLines } from "./safe-line.ts";
import type { TextStyle } from "./text-style.ts";
import { timeText } from "./time-text.ts";

/** The scope of `halt` and `lift`, as the command line gives it: a run, everything, or by default the tenant. */
export interface HaltScopeArguments {
  readonly run: string | undefined;
  readonly everything?: true;
}

/** Returns the scope as the engine takes it. A person who can open the store may act as its operator. */
export function haltTarget({ run, everything }: HaltScopeArguments, person: PrincipalInput) {
  const principal = everything ? { ...person, roles: [...(person.roles ?? []), "operator"] } : person;
  return { principal, ...(everything && { everything }), ...(run !== undefined && { runId: run }) };
}

/** Returns the scope as arguments of a command line. */
export function haltArguments({ run, everything }: HaltScopeArguments): readonly string[] {
  return [...(run === undefined ? [] : [run]), ...(everything ? ["--everything"] : [])];
}

export function haltLines(halts: readonly Halt[], style: TextStyle): readonly SafeLine[] {
  return tableLines(
    halts.map(({ over, by, at, reason }) => [
      line`halted: ${over}`,
      line`by ${by}`,
      line`since ${timeText(at, style)}`,
      line`${reason}`,
    ]),
  );
}
