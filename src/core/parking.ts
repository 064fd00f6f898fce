import type { Fault } from "./fault.ts";
import type { Instant, RunId, StepId } from "./id.ts";
import type { Halt, SignalRow } from "./rows.ts";

/** What a parked step waits for. */
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
  /** It was called as often as it may be until then. `rule`: present where a policy says how often that is. */
  | { readonly for: "rate"; readonly tally: string; readonly until: Instant; readonly rule?: string }
  /** A person said that nothing new begins. It looks again then, whether or not anyone says that it may go on. */
  | { readonly for: "halt"; readonly halt: Halt; readonly since: Instant; readonly until: Instant }
  /** `until` null: for as long as it takes. */
  | { readonly for: "signal"; readonly box: BoxVersion; readonly until: Instant | null };

/** The version a signal's row has from this event on, and what it says. */
export interface BoxVersion extends Omit<SignalRow, "run_id"> {
  readonly key: string;
  readonly version: number;
}
