import { FaultError, fault } from "../core/values/fault.ts";
import type { Engine } from "../engine/api/engine-api.ts";
import type { OpenRunOptions } from "../engine/api/open-run-api.ts";
import { assertKnownFields } from "../engine/api/verb-options.ts";
import { assertEffects, type DeclaredEffects } from "./declared-effects.ts";
import type { Governed } from "./governed.ts";
import { GovernedSession } from "./governed-session.ts";

export interface GovernOptions
  extends Pick<
    OpenRunOptions,
    "session" | "principal" | "project" | "subject" | "agent" | "title" | "waitMs" | "traceId"
  > {
  /** The engine, as `createEngine` returns it. */
  readonly engine: Engine;
  /**
   * The worst that each tool does: `{ search: "reads" }`, or the terms of an act such as its `identity` and `verify`. A
   * tool that is not listed acts. The first start prints those.
   */
  readonly effects?: DeclaredEffects;
  /**
   * return: a held call is answered at once, in the way the framework has for it. wait: the call waits for the
   * decision of the person. Default: return.
   */
  readonly hold?: "return" | "wait";
  /** Prints what a person should know at the start. Default: `console.warn`. */
  readonly print?: (text: string) => void;
}

const known = [
  ...["engine", "session", "principal", "project", "subject", "agent", "title", "waitMs", "traceId"],
  ...["effects", "hold", "print"],
];

/** Opens the run of a session for the adapter of a framework. The same session is the same run, also after a crash. */
export async function govern(options: GovernOptions): Promise<Governed> {
  assertKnownFields("the options of govern", options, known);
  const { engine, effects = {}, hold = "return", print = console.warn, ...opening } = options;
  assertEffects(effects);
  if (hold !== "return" && hold !== "wait")
    throw new FaultError(fault("INVALID_INPUT", 'hold must be "return" or "wait"'));
  if (typeof engine?.openRun !== "function")
    throw new FaultError(fault("INVALID_INPUT", "engine must be an engine, as createEngine returns it"));
  const run = await engine.openRun(opening);
  const openBeside = (name: string) => engine.openRun({ ...opening, session: `${opening.session}/${name}` });
  return new GovernedSession({ engine, run, effects, hold, print, openBeside });
}
