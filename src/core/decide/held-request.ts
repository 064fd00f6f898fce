import type { HoldVerdict } from "../call/guard.ts";
import type { Call } from "../event/event.ts";
import type { GateId } from "../values/ids.ts";

/** A call that a policy holds before its run begins. */
export interface HeldRequest extends Omit<HoldVerdict, "kind"> {
  readonly gate_id: GateId;
  readonly gate_ms: number;
  readonly gate_notice?: true;
  readonly call: Call;
}
