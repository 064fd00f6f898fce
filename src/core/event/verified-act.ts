import type { ExternalChange } from "../tool/external-change.ts";
import type { StepId } from "../values/ids.ts";

/** The finding of a verifier about a recorded act. */
export interface VerifiedAct {
  readonly step_id: StepId;
  readonly tool: string;
  /**
   * - confirmed: the act is in effect as recorded; for an undo, the act that it undid is gone.
   * - different: the act is in effect, but not as recorded.
   * - missing: the act is not in effect.
   * - unknown: the verifier could not find out, or is not registered here.
   * - not_verifiable: its tool has no verifier.
   */
  readonly found: "confirmed" | "different" | "missing" | "unknown" | "not_verifiable";
  readonly why: string | null;
  /** The findings about the changes that the act recorded, in their order. Absent: it recorded none. */
  readonly changes?: readonly VerifiedChange[];
}

/** Acts of a run were looked for in the outside world. */
export interface ActVerification {
  /** The principal that asked. Null if the engine asked before a step of a continued run relied on the acts. */
  readonly by: string | null;
  readonly reason: string;
  readonly acts: readonly VerifiedAct[];
}

/** The finding of a verifier about a recorded external change. The words mean the same as for a whole act. */
export interface VerifiedChange {
  readonly change: ExternalChange;
  readonly found: "confirmed" | "different" | "missing" | "unknown" | "not_verifiable";
  readonly why: string | null;
}
