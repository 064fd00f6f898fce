import type { Mode } from "../core/effect.ts";
import type { RunId } from "../core/id.ts";
import type { JsonObject } from "../core/json/json.ts";
import type { Capability } from "../core/principal.ts";
import type { RunResult, StepResult } from "../core/result.ts";

/** Who asks, as a caller writes it: plain strings, no brands. */
export interface PrincipalInput {
  readonly id: string;
  readonly kind: "agent" | "person" | "service";
  readonly tenant: string;
  readonly roles?: readonly string[];
  readonly claims?: JsonObject;
  /** What it may do: what all of these let it. */
  readonly capabilities?: readonly Capability[];
}

export interface As {
  readonly principal: PrincipalInput;
}

export interface Reasoned extends As {
  readonly reason?: string;
}

export interface SubmitOptions extends As {
  /** Two submissions with the same key are one run. Default: the plan's intent_id, else none. */
  readonly requestKey?: string;
  /** Values for the placeholders of idempotency templates; recorded. */
  readonly context?: JsonObject;
  readonly mode?: Mode;
  readonly deadlineMs?: number;
  /** Only workers that serve it take the run up. Default: "default". */
  readonly queue?: string;
  /** Of a tenant's runs in a worker's queues, the highest is taken up first. Default: 0. */
  readonly priority?: number;
  readonly correlationId?: string;
  readonly traceId?: string;
  /** Runs of one project share its state. Default: the run has a state of its own. */
  readonly project?: string;
  /** A scope inside the project. */
  readonly session?: string;
  /** Says that all of it, or these steps, are meant, where that is all that is asked. It never stands for an approval. */
  readonly confirmed?: true | readonly string[];
}

export interface CallResult {
  readonly run_id: RunId;
  readonly step: StepResult;
  readonly result: RunResult;
}
