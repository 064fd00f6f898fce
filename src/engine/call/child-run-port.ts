import type { Notice } from "../../core/event/event.ts";
import type { LeftAct } from "../../core/event/left-act.ts";
import type { LeftAgent } from "../../core/run/conversation.ts";
import type { Run, Step } from "../../core/run/run.ts";
import type { Fault } from "../../core/values/fault.ts";
import type { RunId, StepId } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";
import { digestOfParts } from "../ports/digest.ts";

/** Starts the child runs of a run, and delivers messages between parent and child. */
export interface ChildRunPort {
  /** Accepts the child run of a step, once. Returns why that is not possible, or null. */
  start(run: Run, step: Step, input: Json): Promise<Fault | null>;
  /** Delivers a notice to the parent or a child, at least once. The receiver ignores repetitions. */
  deliver(run: Run, notice: Notice): Promise<void>;
  /** Cancels a sub-agent that a branch of the run has left, and returns its acts and those of its own sub-agents. */
  leave(run: Run, child: RunId, left: LeftAgent): Promise<readonly LeftAct[]>;
  /** Tells the sub-agents of a run, and those below them, which acts branches have left. */
  tellLeftActs(run: Run): Promise<void>;
}

/** A simulation starts no child runs. */
export const noChildRuns: ChildRunPort = {
  start: async () => null,
  deliver: async () => {},
  leave: async () => [],
  tellLeftActs: async () => {},
};

/**
 * Derives the id of a child run from its parent step, so that a worker that asks again after a crash finds the same run.
 * The id begins with that of the topmost run, so that lists keep a family together.
 */
export function childRunId(run: RunId, step: StepId): RunId {
  const [first] = run.split("-");
  return `${first}-${digestOfParts("writ/child/v1", run, step).slice(0, 26)}` as RunId;
}
