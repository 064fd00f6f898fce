import type { PlanFinding, PlanTerms } from "../../core/plan/analyse-plan.ts";
import type { PlanLowerBounds } from "../../core/plan/plan-lower-bounds.ts";
import type { JsonObject } from "../../core/values/json.ts";
import type { PrincipalInput } from "./principal-input.ts";

export interface CheckOptions extends PlanTerms {
  readonly context?: JsonObject;
  /** The principal that would submit the plan. With it, its rights and the policies of now are judged, too. */
  readonly principal?: PrincipalInput;
  /** The project and the session of the submission, whose policies apply. */
  readonly project?: string;
  readonly session?: string;
}

export interface PlanReport {
  /** True if the plan would be accepted. Its findings say whether it can complete. */
  readonly ok: boolean;
  readonly reasons: readonly { readonly path: string; readonly message: string }[];
  readonly warnings: readonly { readonly path: string; readonly message: string }[];
  /** Everything that was found, as data from which a plan can be repaired. */
  readonly findings: readonly PlanFinding[];
  /** The least depth, time and cost. Null: the plan is not valid. */
  readonly bounds: PlanLowerBounds | null;
  /** The facts that the check does not know. */
  readonly unchecked: readonly string[];
}
