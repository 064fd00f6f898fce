import type { Event } from "../../src/core/event/event.ts";
import { awaitedChildRun } from "../../src/core/run/child-run-notices.ts";
import type { Run, Step } from "../../src/core/run/run.ts";
import { runDueAt } from "../../src/core/run/run-wakeups.ts";
import { workerRequirements } from "../../src/core/run/worker-requirements.ts";
import { faults } from "../../src/core/values/fault.ts";
import type { ObservedEvent, SideOutputs } from "../journal-observer.ts";
import type { SimContext } from "../sim-context.ts";
import { simStateTools } from "../sim-state-tools.ts";
import { simTools } from "../sim-tools.ts";
import { isLimitTally } from "./check-limits.ts";

/** A run ends once, waits only for events that can come, retries within its limits, and is charged its cost. */
export function checkRunLifecycle(observedEvent: ObservedEvent): void {
  checkAfterEnd(observedEvent);
  checkRetries(observedEvent);
  checkCharges(observedEvent);
  checkDeliveries(observedEvent);
  checkSideOutputs(observedEvent);
  checkTiming(observedEvent);
}

const allowedAfterEnd: readonly string[] = [
  "run.resumed",
  "step.compensating",
  "step.superseded",
  "step.settled",
  "notice.delivered",
  "budget.alerted",
  "evidence.kept",
  "step.cancelled",
  "gate.contested",
  "state.restored",
];

/** I3: an ended run changes only by resuming, undoing or the decision of a person. */
function checkAfterEnd({ sim, before, event, after }: ObservedEvent): void {
  if (before.ended !== null && !allowedAfterEnd.includes(event.type))
    sim.violate(`I3: ${before.id} is ${before.ended.status}, but has a new ${event.type}`);
  if (event.type !== "run.ended") return;
  const states = Array.from(after.steps, ({ standing }) => standing.state);
  const allSucceeded = Array.from(after.steps).every(
    ({ standing: { state }, spec }) => state === "succeeded" || (state === "skipped" && spec.on_failure === "skip"),
  );
  if (event.status === "completed" && !allSucceeded)
    sim.violate(`${before.id} ended as completed with ${states.join(", ")}`);
  const open = states.find((state) =>
    [
      "ready",
      "running",
      "waiting",
      "waiting_approval",
      "in_doubt",
      "pending",
      "failed_retryable",
      "compensating",
    ].includes(state),
  );
  if (open !== undefined) sim.violate(`I11: ${before.id} ended (${event.status}) with a step ${open}`);
}

/** I8: every wait has an event that can end it. */
export function checkWakeups(sim: SimContext, after: Run): void {
  if (after.ended !== null || after.parked !== null) return;
  let moves = false;
  for (const step of after.steps) {
    const wrong = wakeupProblem(sim, after, step);
    if (wrong !== null) sim.violate(`I8: ${after.id} ${step.spec.step_id} ${wrong}`);
    moves ||=
      ["ready", "running", "failed_retryable", "waiting"].includes(step.standing.state) && !isWaitingForSignal(step);
  }
  if (moves && runDueAt(after) === null && workerRequirements(after).length === 0)
    sim.violate(`I8: ${after.id} has work, but is never due`);
}

/** True if a signal or the end of a child run wakes the step. */
function isWaitingForSignal({ standing }: Step): boolean {
  return standing.state === "waiting" && standing.on.for === "signal";
}

function wakeupProblem({ observer }: SimContext, run: Run, { standing }: Step): string | null {
  if (standing.state === "waiting" && standing.on.for === "signal") {
    const childRun = awaitedChildRun(standing.on.box.key);
    if (childRun === null && standing.on.until !== null) return null;
    return childRun !== null && observer.get(childRun) !== undefined ? null : "waits for a run that was never accepted";
  }
  if (standing.state === "waiting_approval") {
    const gate = run.gates.get(standing.gate_id);
    return gate?.status === "open" ? null : `waits for a gate that is ${gate?.status}`;
  }
  if (standing.state === "compensating") {
    const undo = run.index.get(standing.undo);
    if (undo === undefined) return "waits for an undo that does not exist";
    const { state } = run.steps.get(undo).standing;
    return ["succeeded", "failed_final", "rejected", "skipped", "cancelled"].includes(state)
      ? `waits for an undo that is ${state}`
      : null;
  }
  return null;
}

/** A step has at most the attempts that its plan, its tool or its fault allows. */
function checkRetries({ sim, observedRun, before, event }: ObservedEvent): void {
  if (event.type === "run.resumed") observedRun.failures.clear();
  if (event.type === "step.readied") observedRun.failures.delete(event.step_id);
  // A conflict with another call, or a call that was never made, is not an attempt.
  if (event.type !== "step.failed" || ["STATE_CONFLICT", "CALL_NOT_MADE"].includes(event.fault.code)) return;
  const failures = (observedRun.failures.get(event.step_id) ?? 0) + 1;
  observedRun.failures.set(event.step_id, failures);
  if (event.retry_at === null) return;
  sim.counts.retries += 1;
  const { spec } = before.steps.get(before.index.get(event.step_id) as number);
  const childRun = spec.on_failure === "retry" && event.fault.code === "TOOL_FAILED";
  const usual = childRun ? 4 : faults[event.fault.code].tries;
  const tries =
    spec.retries === null
      ? ([...simTools, ...simStateTools].find(({ name }) => name === spec.name)?.tries ?? usual)
      : spec.retries + 1;
  if (failures >= tries) sim.violate(`${before.id} ${event.step_id} is retried after ${failures} of ${tries} attempts`);
}

/** I6: the charges equal the cost of the attempts, and a recorded refusal, of a run or of a decision, counts once. */
function checkCharges({ sim, observedRun, before, event }: ObservedEvent): void {
  const cost = "cost" in event ? event.cost : undefined;
  const charges = ("charges" in event ? event.charges : undefined) ?? [];
  for (const { tally, amount } of charges)
    observedRun.charges.set(tally, (observedRun.charges.get(tally) ?? 0) + amount);
  const charged = charges.reduce((sum, { tally, amount }) => (isLimitTally(tally) ? sum : sum + amount), 0);
  const tallies = before.project === null ? 2 : 3;
  const spent = cost === undefined ? 0 : tallies * (cost.usd_micros + cost.credits + cost.tokens_in + cost.tokens_out);
  const isCounted = event.type === "run.refused" || (event.type === "gate.contested" && charges.length > 0);
  const due = isCounted ? 1 : spent;
  if (charged !== due) sim.violate(`I6: ${before.id} charged ${charged} where ${due} were due`);
}

/** The cost and the notices of a handler are recorded with its answer. */
function checkSideOutputs({ sim, before, event }: ObservedEvent): void {
  if (event.type !== "step.succeeded" && event.type !== "step.failed") return;
  if ("reused" in event || (event.type === "step.failed" && event.fault.code === "CALL_NOT_MADE")) return;
  const { step_id, attempt, cost } = event;
  const notices = "notices" in event ? event.notices : undefined;
  const { standing, spec } = before.steps.get(before.index.get(step_id) as number);
  // Side outputs before a timeout were recorded with the doubt.
  if (spec.kind !== "operator" || standing.state === "in_doubt") return;
  const outputs = sim.observer.sideOutputsOf(before.id, step_id, attempt);
  const same = ({ usd_micros, notices: noticeCount }: SideOutputs) =>
    usd_micros === (cost?.usd_micros ?? 0) && (event.type === "step.failed" || noticeCount === (notices?.length ?? 0));
  const silent = outputs.length === 0 && cost === undefined && notices === undefined;
  if (!silent && !outputs.some(same))
    sim.violate(`I6: ${before.id} ${step_id}.${attempt} is recorded without its cost or its notices`);
}

/** The errands of a handler are added to the run with its answer. */
export function checkErrands({ observer, violate }: SimContext, event: Event, after: Run): void {
  if (event.type !== "step.succeeded" || event.reused !== undefined) return;
  const { step_id, attempt } = event;
  const outputs = observer.sideOutputsOf(after.id, step_id, attempt);
  const wanted = outputs.length > 0 && outputs.every(({ errands }) => errands > 0);
  if (wanted && !after.index.has(`${step_id}.1`))
    violate(`${after.id} ${step_id}.${attempt} sent an errand that is not in the run`);
}

/** No step starts before its retry time or the end of its wait. */
function checkTiming({ sim, before, event }: ObservedEvent): void {
  if (event.type !== "step.started" && event.type !== "step.succeeded" && event.type !== "step.failed") return;
  const { standing } = before.steps.get(before.index.get(event.step_id) as number);
  const startedAt = "started_at" in event ? event.started_at : event.at;
  const where = `${before.id} ${event.step_id}.${event.attempt}`;
  if (standing.state === "failed_retryable" && startedAt < standing.retry_at)
    sim.violate(`${where} was retried too early`);
  const until =
    standing.state === "waiting" && standing.on.for !== "tool" && standing.on.for !== "signal" && standing.on.until;
  if (until !== false && startedAt < until) sim.violate(`${where} started before the end of its wait`);
}

/** I14: a notice is recorded as delivered only after it arrived. */
function checkDeliveries({ sim, before, event }: ObservedEvent): void {
  if (event.type !== "notice.delivered" || before.notices.get(event.notice_id)?.kin !== undefined) return;
  if (!sim.world.hasNotice(event.notice_id))
    sim.violate(`I14: ${before.id} records ${event.notice_id} as delivered, but it never arrived`);
}
