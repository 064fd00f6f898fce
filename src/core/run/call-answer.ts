import type { ReuseSource } from "../event/reuse-source.ts";
import { utcText } from "../time/utc-text.ts";
import { askedText } from "../tool/asked-data.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { Json } from "../values/json.ts";
import { type OpenGate, toOpenGate } from "./gate-details.ts";
import type { Gate, Run } from "./run.ts";
import { type BlockedStep, toBlockedStep } from "./run-result.ts";
import { type Step, stepPace } from "./step.ts";

/** The result of a call of an agent, once the call goes no further by itself. */
export type CallAnswer =
  /** `reused` is present if an earlier act answers, and nothing was done again. */
  | { readonly status: "succeeded"; readonly output: Json; readonly reused?: ReuseSource }
  /** A person has to decide. Nothing was done. */
  | { readonly status: "held"; readonly gate: OpenGate }
  /** refused: it was not made. failed: it was made and failed. */
  | { readonly status: "refused" | "failed"; readonly fault: Fault }
  /** It may or may not have happened. */
  | { readonly status: "in_doubt"; readonly fault: Fault; readonly attempt: number }
  | { readonly status: "waiting"; readonly blocked: BlockedStep }
  | { readonly status: "cancelled" };

/** Returns the answer of a call, or null while the call moves by itself. */
export function callAnswer(run: Run, step: Step): CallAnswer | null {
  const { standing, spec, attempts } = step;
  const pace = stepPace(standing);
  if (pace === "moving" || pace === "retrying") {
    if (run.parked === null) return null;
    return { status: "waiting", blocked: { step_id: spec.step_id, reason_code: "RUN_PARKED" } };
  }
  switch (standing.state) {
    case "succeeded": {
      const { output, reused } = standing;
      return { status: "succeeded", output, ...(reused !== null && { reused }) };
    }
    case "waiting_approval":
      return { status: "held", gate: toOpenGate(run.gates.get(standing.gate_id) as Gate, spec.name) };
    case "rejected":
      return { status: "refused", fault: standing.fault };
    case "failed_final":
      return standing.fault.code === "CANCELLED"
        ? { status: "cancelled" }
        : { status: "failed", fault: standing.fault };
    case "compensation_failed":
      return { status: "failed", fault: standing.fault };
    case "in_doubt":
      return { status: "in_doubt", fault: standing.fault, attempt: attempts };
    case "compensated":
      return { status: "failed", fault: fault("EFFECT_CLOSED", `${spec.step_id} was done, and then undone`) };
    case "cancelled":
    case "skipped":
      return { status: "cancelled" };
    default:
      return { status: "waiting", blocked: toBlockedStep(run, step) };
  }
}

/** The text about a call that every adapter gives to a model. */
export interface ModelText {
  readonly text: string;
  readonly isError: boolean;
}

/** Returns the text that tells a model what happened, whether anything was done, and whether to call again. */
export function modelText(answer: CallAnswer): ModelText {
  switch (answer.status) {
    case "succeeded": {
      const output = typeof answer.output === "string" ? answer.output : JSON.stringify(answer.output);
      const { reused } = answer;
      if (reused === undefined) return { text: output, isError: false };
      return { text: `Done earlier at ${utcText(reused.at)}, not done again. Its result: ${output}`, isError: false };
    }
    case "held":
      if (answer.gate.asks_for !== undefined)
        return said(
          `Held: a person has to supply ${askedText(answer.gate.asks_for)} (gate ${answer.gate.gate_id}). Nothing was done yet. Do not call again, also not with other words; the call goes on when they have.`,
          false,
        );
      return said(
        `Held: a person has to approve this call (gate ${answer.gate.gate_id}, ${answer.gate.reason}). Nothing was done yet. Do not call again, also not with other words; the call is answered when it is decided.`,
        false,
      );
    case "refused":
      return said(
        `Refused: ${answer.fault.message} (${answer.fault.code}). Nothing was done. The same call is refused again.`,
      );
    case "failed":
      return said(`Failed: ${answer.fault.message} (${answer.fault.code}). A new call may be made if it makes sense.`);
    case "in_doubt":
      return said(
        `In doubt: ${answer.fault.message}. It may or may not have been done. Do not call again; a person or a check finds out.`,
      );
    case "waiting":
      return said(
        `Waiting (${answer.blocked.reason_code}). It is not done yet. Do not call again; it continues by itself.`,
        false,
      );
    case "cancelled":
      return said("Cancelled. The call was stopped and has no result.");
  }
}

function said(text: string, isError = true): ModelText {
  return { text, isError };
}
