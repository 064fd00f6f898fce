import type { CommandOf, FollowUpStep, Grant } from "../../core/decide/command.ts";
import type { Decision } from "../../core/decide/decide.ts";
import type { Notice } from "../../core/event/event.ts";
import { planStep } from "../../core/plan/plan.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import type { Run, Step } from "../../core/run/run.ts";
import { assert } from "../../core/values/assert.ts";
import { worseEffect } from "../../core/values/effect.ts";
import type { StepId } from "../../core/values/ids.ts";
import type { JsonObject } from "../../core/values/json.ts";
import type { AttemptState } from "../state/attempt-state.ts";
import { isAct } from "./acquire.ts";
import { type AttemptReport, hasSucceeded } from "./attempt-report.ts";
import type { CallContext } from "./call-context.ts";
import type { CallPorts } from "./call-ports.ts";
import { type CallResources, endingFault, restoreResources, settleResources } from "./call-resources.ts";
import { readReplanAnswer } from "./read-replan-answer.ts";
import { reuseTermsFor } from "./stored-facts.ts";
import { verifyAct } from "./verify.ts";

/**
 * Stage 5. Appends the end of the attempt: outcome, state change, ledger row, cost, follow-up steps and notices are one
 * entry. Restores the resources of a failed attempt before its failure is on record.
 */
export function commit(
  context: CallContext,
  step: Step,
  grant: Grant,
  report: AttemptReport,
  resources: CallResources,
): Promise<Decision> {
  return resources.captured === null && !isAct(grant)
    ? commitReport(context, step, grant, report, report.called ? resources.state : null)
    : commitActOrResources(context, step, grant, report, resources);
}

async function commitActOrResources(
  context: CallContext,
  step: Step,
  grant: Grant,
  report: AttemptReport,
  { captured, state }: CallResources,
): Promise<Decision> {
  if (captured !== null) {
    const stateFault = report.called && state !== null ? state.fault : null;
    const why = endingFault(report.ending) ?? stateFault;
    const unrestored = await restoreResources(context, grant, why, captured);
    if (unrestored !== null)
      return commitReport(context, step, grant, { ...report, ending: { how: "error", fault: unrestored } }, state);
  }
  if (!report.called) return commitReport(context, step, grant, report, null);
  const decision = await commitReport(context, step, grant, report, state);
  if (isAct(grant)) context.ports.failpoint("end.after");
  if (captured !== null) await settleResources(context, grant, captured);
  return decision;
}

/** Appends the report of an attempt. Late reports, of handlers that outlived their attempt, are appended here too. */
export function commitReport(
  context: CallContext,
  step: Step,
  grant: Grant,
  report: AttemptReport,
  state: AttemptState | null,
): Promise<Decision> {
  const isUndone = step.cause?.by === "undo" && hasSucceeded(report);
  return isUndone && grant.proposal.tool?.verifies
    ? commitVerifiedUndo(context, step, grant, report, state)
    : append(context, step, grant, report, { state, confirmed: false });
}

/** Asks the verifier whether the act is gone before the undo is recorded. */
async function commitVerifiedUndo(
  context: CallContext,
  step: Step,
  grant: Grant,
  report: AttemptReport,
  state: AttemptState | null,
): Promise<Decision> {
  const { sighting } = await verifyAct(context.ports, context.mailbox.run, step);
  return append(context, step, grant, report, { state, confirmed: sighting.saw === "happened" });
}

interface EndFacts {
  readonly state: AttemptState | null;
  readonly confirmed: boolean;
}

type EndDraft = { -readonly [Field in keyof CommandOf<"end">]: CommandOf<"end">[Field] };

function append(
  context: CallContext,
  step: Step,
  grant: Grant,
  report: AttemptReport,
  { state, confirmed }: EndFacts,
): Promise<Decision> {
  const { ports, mailbox } = context;
  const { ending, cost, errands, notices, changes, heartbeat, closings } = report;
  const { tool } = grant.proposal;
  assert(tool !== null, "an unknown tool never runs");
  const succeeded = hasSucceeded(report);
  const acts = worseEffect(step.spec.effect, tool.effect) === "acts";
  const end: EndDraft = {
    type: "end",
    now: ports.clock.now(),
    grant,
    ending,
    heartbeat,
    tool,
    cost,
    // An output that depends on state does not answer every call with the same input.
    reuse:
      acts || state?.hasRead
        ? null
        : reuseTermsFor(ports, mailbox.run, step, grant.proposal, grant.basis?.policy ?? null),
    errands: succeeded ? makeErrands(ports, step, errands) : NONE,
    notices: succeeded ? makeNotices(mailbox.run, step, notices) : NONE,
    state: null,
    dice: succeeded && state === null ? 0 : ports.dice(),
    in_flight: succeeded && step.cause?.by !== "replan" ? NONE : context.inFlight(),
    confirmed,
  };
  if (succeeded && step.cause?.by === "replan") end.replan = readReplanAnswer(ports, mailbox.run, report);
  if (closings !== undefined) end.closings = closings;
  if (changes.length > 0) end.changes = changes;
  if (state === null) return mailbox.askUntilLanded(() => end);
  return mailbox.askUntilLanded(() => withState(context, end, state, succeeded));
}

/** Adds the state change, made anew on the latest version. A conflict fails the attempt. */
function withState(
  context: CallContext,
  end: CommandOf<"end">,
  state: AttemptState,
  succeeded: boolean,
): CommandOf<"end"> {
  const fact = state.fact(!succeeded || end.grant.recorded);
  const mayFail = fact.conflict !== null || fact.fault !== null || end.grant.recorded;
  return { ...end, state: fact, in_flight: succeeded && mayFail ? context.inFlight() : end.in_flight };
}

const NONE: readonly never[] = [];

function makeErrands(ports: CallPorts, step: Step, errands: AttemptReport["errands"]): readonly FollowUpStep[] {
  if (errands.length === 0) return NONE;
  return errands.map((errand, index) => makeErrand(ports, step, errand, index + 1));
}

function makeErrand(
  { toolbox }: CallPorts,
  { spec }: Step,
  { kind, name, payload }: AttemptReport["errands"][number],
  number: number,
): FollowUpStep {
  const tool = stepKinds[kind].callsTool ? toolbox.callable.get(name) : null;
  const step_id = `${spec.step_id}.${number}` as StepId;
  const step = planStep({
    step_id,
    kind,
    name,
    payload: payload as JsonObject,
    effect: tool === null ? "pure" : (tool?.effect ?? "acts"),
    policy_tags: tool?.tags ?? NONE,
    cache_policy: tool?.cache ?? "never",
    ...(tool != null && { asks_for: tool.asksFor }),
    on_failure: "skip",
    on_rejected: "continue",
  });
  return { step, pin: tool == null ? null : toolbox.pin(name), cause: { by: "errand", of: spec.step_id } };
}

function makeNotices(run: Run, step: Step, notices: AttemptReport["notices"]): readonly Notice[] {
  if (notices.length === 0) return NONE;
  return notices.map((notice, index) => makeNotice(run, step, notice, index + 1));
}

function makeNotice(run: Run, { spec }: Step, { topic, payload }: Omit<Notice, "notice_id">, number: number): Notice {
  return { notice_id: `ntc_${run.id.slice(4)}_${spec.step_id}_${number}`, topic, payload };
}
