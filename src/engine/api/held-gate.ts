import { FaultError } from "../../core/values/fault.ts";
import type { GateId, RunId } from "../../core/values/ids.ts";

/** The gate of a request that a policy holds, and its run. */
export interface HeldGate {
  readonly gate_id: GateId;
  readonly run_id: RunId;
}

/** Returns the gate if a method has thrown because a policy holds it (`HELD_FOR_APPROVAL`); else null. */
export function heldGate(error: unknown): HeldGate | null {
  if (!(error instanceof FaultError) || error.fault.code !== "HELD_FOR_APPROVAL") return null;
  return error.fault.detail as unknown as HeldGate;
}
