import type { Halt, SignalRow } from "../store/tables.ts";
import type { Fault } from "../values/fault.ts";
import type { Instant, RunId, StepId } from "../values/ids.ts";

/** The reason why a step is parked. It starts again at `until` at the latest. */
export type Parking =
  | { readonly for: "time"; readonly until: Instant }
  | {
      readonly for: "key";
      readonly since: Instant;
      readonly until: Instant;
      readonly owner: RunId;
      readonly owner_step: StepId;
    }
  | { readonly for: "tool"; readonly fault: Fault }
  /** The rate limit is reached until then. `rule` is the policy rule that sets the limit; absent for a setting. */
  | { readonly for: "rate"; readonly tally: string; readonly until: Instant; readonly rule?: string }
  /** A person halted the run. The step checks again at `until`, even if no process reports that the halt is lifted. */
  | { readonly for: "halt"; readonly halt: Halt; readonly since: Instant; readonly until: Instant }
  /** `until` is null if the wait has no time limit. */
  | { readonly for: "signal"; readonly box: SignalBoxVersion; readonly until: Instant | null };

/** The content and version that a signal row has from this event on. */
export interface SignalBoxVersion extends Omit<SignalRow, "run_id"> {
  readonly key: string;
  readonly version: number;
}
