import type { ReuseSource } from "../event/reuse-source.ts";
import type { Fault } from "../values/fault.ts";
import type { GateId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";
import type { Step } from "./step.ts";

/** The result of a step. `output` and `fault` can be read in every state. */
export type StepResult<Output = Json> =
  | { readonly state: "succeeded"; readonly output: Output; readonly reused?: ReuseSource; readonly fault?: undefined }
  | {
      readonly state: "waiting_approval";
      readonly gate_id: GateId;
      readonly output?: undefined;
      readonly fault?: undefined;
    }
  | {
      readonly state: "failed_retryable" | "failed_final" | "rejected" | "skipped" | "compensation_failed";
      readonly fault: Fault;
      readonly output?: undefined;
    }
  /** `attempt` is the attempt that may have happened. */
  | { readonly state: "in_doubt"; readonly fault: Fault; readonly attempt: number; readonly output?: undefined }
  | {
      readonly state: "compensated";
      readonly confirmed: boolean;
      readonly output?: undefined;
      readonly fault?: undefined;
    }
  | {
      readonly state: "pending" | "ready" | "waiting" | "running" | "cancelled" | "compensating";
      readonly output?: undefined;
      readonly fault?: undefined;
    };

export function stepResult({ standing, attempts }: Step): StepResult {
  switch (standing.state) {
    case "succeeded": {
      const { state, output, reused } = standing;
      return reused === null ? { state, output } : { state, output, reused };
    }
    case "waiting_approval":
      return { state: standing.state, gate_id: standing.gate_id };
    case "in_doubt":
      return { state: standing.state, fault: standing.fault, attempt: attempts };
    case "compensated":
      return { state: standing.state, confirmed: standing.confirmed };
    case "failed_retryable":
    case "failed_final":
    case "rejected":
    case "skipped":
    case "compensation_failed":
      return { state: standing.state, fault: standing.fault };
    default:
      return { state: standing.state };
  }
}
