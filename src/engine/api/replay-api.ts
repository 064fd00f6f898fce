import type { StepId } from "../../core/values/ids.ts";

/** The comparison of a recorded call with the same call made again. */
export type ReplayedStep = {
  readonly step_id: StepId;
  readonly tool: string;
  /** The attempt whose result is on record. */
  readonly attempt: number;
} & (
  | { readonly replay: "same" }
  /** The beginnings of the JSON texts of the recorded and of the new value. A failure is a value of its fault. */
  | {
      readonly replay: "different";
      readonly differs: "output" | "state";
      readonly recorded: string;
      readonly computed: string;
    }
  | { readonly replay: "not_called"; readonly why: string }
);
