import type { RunResult, StepResult } from "../../core/run/run-result.ts";
import type { Mode } from "../../core/values/effect.ts";
import type { RunId } from "../../core/values/ids.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import type { PrincipalInput } from "./principal-input.ts";

export interface PrincipalOptions {
  readonly principal: PrincipalInput;
}

export interface ReasonOptions extends PrincipalOptions {
  readonly reason?: string;
}

export interface SubmitOptions extends PrincipalOptions {
  /**
   * Two submissions with the same key, by one principal in one project and session, are one run. "content": a key made
   * of the plan, context, project and session. Default: the plan's intent_id, else none.
   */
  readonly requestKey?: string;
  /**
   * True: if the earlier run of this request key has ended as failed or partial, its unsuccessful steps run again, as
   * after `resume`. No recorded act is repeated. Needs a request key. Default: the recorded result is returned.
   */
  readonly retryFailed?: boolean;
  /** Values for the placeholders of idempotency templates; recorded. */
  readonly context?: JsonObject;
  readonly mode?: Mode;
  readonly deadlineMs?: number;
  /** Only workers that serve this queue claim the run. Default: "default". */
  readonly queue?: string;
  /** A worker claims the runs of a tenant with the highest priority first. Default: 0. */
  readonly priority?: number;
  readonly correlationId?: string;
  readonly traceId?: string;
  /** The project whose state the run uses. Default: the run has a state of its own. */
  readonly project?: string;
  /** A scope inside the project. */
  readonly session?: string;
  /** Lists show it. */
  readonly title?: string;
  /** Lists find the run by each of them. */
  readonly labels?: readonly string[];
  /** Confirms the plan, or these steps, where a rule only asks for confirmation. Never replaces an approval. */
  readonly confirmed?: true | readonly string[];
}

/** The result of one call, with the output type of its tool. */
export interface CallResult<Output = Json> {
  readonly run_id: RunId;
  readonly step: StepResult<Output>;
  readonly result: RunResult;
}
