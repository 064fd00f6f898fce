import type { AppendResult, Check } from "../../core/store/store.ts";
import type { HeldIn } from "../../core/values/held-in.ts";
import { ConditionFailedError } from "./append-errors.ts";

/** A change that the tenant's policies have judged: it is made directly, or it is the execution of a held request. */
export interface JudgedRequest extends HeldIn {
  /** The policy row that allowed the change. The append that makes the change fails if the row is another one now. */
  readonly checks?: readonly Check[];
}

/** Returns whether the append of a change landed. Throws if the policies that allowed the change are no longer in force. */
export function isLanded(landing: AppendResult): boolean {
  if (landing.landed) return true;
  if (landing.why === "check") throw new ConditionFailedError(landing);
  return false;
}

/** Returns whether an error says that the policies were changed after they had allowed a change. Nothing was written. */
export function isRulesChange(error: unknown): boolean {
  return error instanceof ConditionFailedError && error.landing.why === "check";
}
