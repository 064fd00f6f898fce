import type { Intent } from "../../core/event/signal.ts";
import type { RunBudget } from "../../core/limits/budget.ts";
import type { RunResult } from "../../core/run/run-result.ts";
import type { StepResult } from "../../core/run/step-result.ts";
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
   * of the plan, context, project, session and the version of the policies. Default: a key made of the intent, else the
   * plan's intent_id, else none.
   */
  readonly requestKey?: string;
  /**
   * The intent that the plan answers; recorded. Two submissions with the same intent, contexts and policies are one run,
   * even if their plans differ.
   */
  readonly intent?: Intent;
  /**
   * True: if the earlier run of this request key has ended as failed or partial, its unsuccessful steps run again, as
   * after `resume`. No recorded act is repeated. Needs a request key. Default: the recorded result is returned.
   */
  readonly retryFailed?: boolean;
  /** Values for the placeholders of idempotency templates; recorded. */
  readonly context?: JsonObject;
  /** The stricter of this and the mode of the tenant applies. Default: that of the tenant. */
  readonly mode?: Mode;
  /** The milliseconds after which the run is stopped. Default: never. */
  readonly deadlineMs?: number;
  /** Only workers that serve this queue claim the run. Default: "default". */
  readonly queue?: string;
  /** A worker claims the runs of a tenant with the highest priority first. Default: 0. */
  readonly priority?: number;
  /** An id of the caller that events, tools and traces carry. */
  readonly correlationId?: string;
  /** A W3C `traceparent`: the spans of the run continue its trace. */
  readonly traceId?: string;
  /** The project whose state the run uses. Default: the run has a state of its own. */
  readonly project?: string;
  /** A scope inside the project. */
  readonly session?: string;
  /** Lists show it. */
  readonly title?: string;
  /** Lists find the run by each of them. */
  readonly labels?: readonly string[];
  /** Limits of the run, with its child runs. A call beyond one is refused. They apply beside all other limits. */
  readonly budgets?: readonly RunBudget[];
  /** Confirms the plan, or these steps, where a rule only asks for confirmation. Never replaces an approval. */
  readonly confirmed?: true | readonly string[];
}

/** The result of one call, with the output type of its tool. */
export interface CallResult<Output = Json> {
  readonly run_id: RunId;
  readonly step: StepResult<Output>;
  readonly result: RunResult;
}
