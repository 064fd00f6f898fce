import type { RunId, StepId } from "../values/ids.ts";

/** An act that a call would repeat. */
export interface DuplicateAct {
  readonly run: RunId;
  readonly step: StepId;
  readonly generation: number;
  readonly certain: boolean;
  /** The latest generation did nothing, so the call would repeat an earlier generation. */
  readonly idle?: true;
}
