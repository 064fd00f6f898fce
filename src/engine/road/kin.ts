import type { Notice } from "../../core/event.ts";
import type { Fault } from "../../core/fault.ts";
import type { RunId, StepId } from "../../core/id.ts";
import type { Json } from "../../core/json/json.ts";
import type { Run, Step } from "../../core/run.ts";
import { digestOf } from "../digest.ts";

/** What a run has to do with those it asked for, and with the one that asked for it. */
export interface Kin {
  /** Sees to it that the run which a step asks for is there, once; or says why it cannot be. */
  bear(run: Run, step: Step, input: Json): Promise<Fault | null>;
  /** Carries word to them. At least once, so that twice has to be once. */
  carry(run: Run, notice: Notice): Promise<void>;
}

/** Where there is nobody else: a rehearsal starts no other run. */
export const alone: Kin = { bear: async () => null, carry: async () => {} };

/**
 * The run that a step asks for is always the same one, whoever asks, however often: whoever died after asking finds what it
 * asked for. It begins like the first of its line, so that lists have them together.
 */
export function childOf(run: RunId, step: StepId): RunId {
  const [first] = run.split("-");
  return `${first}-${digestOf("writ/child/v1", run, step).slice(0, 26)}` as RunId;
}
