import type { HeldIn } from "../values/held-in.ts";
import type { StepId } from "../values/ids.ts";

/** The result of a request to undo an act. */
export interface UndoneAct {
  readonly step_id: StepId;
  readonly tool: string;
  /**
   * - confirmed: the act is undone, and a verifier confirmed it.
   * - unconfirmed: the act is undone or may be undone; no verifier confirmed it.
   * - irreversible: its tool declares no compensation.
   * - failed: the compensation failed; the act remains in effect.
   * - not_attempted: the compensation has not run; the act remains in effect, or is in doubt.
   */
  readonly undone: "confirmed" | "unconfirmed" | "irreversible" | "failed" | "not_attempted";
  readonly why: string | null;
}

/** A principal asked to undo all acts of the run. Records the result for each act. */
export interface UndoReport extends HeldIn {
  readonly by: string;
  readonly reason: string;
  readonly acts: readonly UndoneAct[];
}
