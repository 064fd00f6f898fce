import type { Grant } from "../../core/decide/command.ts";
import { lastApprovedGate } from "../../core/decide/find-approval.ts";
import { askedModel } from "../../core/run/model-steps.ts";
import type { Run, Step } from "../../core/run/run.ts";
import { requesterOf } from "../../core/run/step-principal.ts";
import type { CallEnd, ObservedCall } from "../api/observer.ts";
import type { AttemptReport } from "./attempt-report.ts";
import type { CallContext } from "./call-context.ts";

/** Returns the trace that the call was proposed with, or else that of its run. */
export function traceIdOf(run: Run, { cause }: Step): string {
  return (cause?.by === "agent" ? cause.trace_id : undefined) ?? run.trace_id;
}

/** Returns what an observer sees of an attempt. */
export function callForObserver({ mailbox: { run } }: CallContext, step: Step, grant: Grant): ObservedCall {
  const { proposal, attempt, step_id } = grant;
  const gate = lastApprovedGate(run, step);
  return {
    tenant: run.tenant,
    run_id: run.id,
    step_id,
    attempt,
    call_id: step.cause?.by === "agent" ? (step.cause.call?.id ?? null) : null,
    tool: step.spec.name,
    model: askedModel(step),
    effect: step.spec.effect,
    input: proposal.input,
    key: proposal.call?.key ?? null,
    verdict: gate === null ? "allow" : "hold",
    rule: gate?.rule ?? grant.basis?.passed[0] ?? null,
    gate_id: gate?.gate_id ?? null,
    principal: requesterOf(run, step),
    project: run.project,
    session: run.session,
    correlation_id: run.correlation_id,
    trace_id: traceIdOf(run, step),
  };
}

/** Returns what an observer sees of the end of an attempt. */
export function callEnd({ ending, cost }: AttemptReport): CallEnd {
  if (ending.how !== "value")
    return { status: ending.how === "unheard" ? "unknown" : "failed", output: null, fault: ending.fault, cost };
  const { output, flaw } = ending;
  return { status: flaw === null ? "succeeded" : "failed", output, fault: flaw, cost };
}
