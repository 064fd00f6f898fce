import type { BackupRestore } from "../event/backup-restore.ts";
import type { EndStatus } from "../event/event.ts";
import type { RulesChange } from "../event/run-rules.ts";
import type { RecordedIntent } from "../event/signal.ts";
import type { Simulation } from "../event/simulation.ts";
import type { Parking } from "../event/step-parking.ts";
import type { Takeover } from "../event/takeover.ts";
import { jsonPreview } from "../json/json-preview.ts";
import type { Halt } from "../store/tables.ts";
import { utcText } from "../time/utc-text.ts";
import { type AskedValue, askedText } from "../tool/asked-data.ts";
import type { Fault } from "../values/fault.ts";
import type { GateId, Instant, RunId, StepId } from "../values/ids.ts";
import { awaitedChildRun } from "./child-run-notices.ts";
import { type OpenGate, toOpenGate } from "./gate-details.ts";
import type { MissingWorker } from "./missing-worker.ts";
import type { Parked } from "./parked-run.ts";
import { isReplaced } from "./plan-in-force.ts";
import { type RollbackReport, rollbackReport } from "./rollback-report.ts";
import { type Gate, outcomeId, type Run, type RunSpending, type Step } from "./run.ts";
import {
  countSteps,
  type RunTimes,
  type RunVersions,
  runTimes,
  runVersions,
  type StepCounts,
  type StepReport,
  stepReport,
} from "./step-report.ts";
import { type StepResult, stepResult } from "./step-result.ts";
import { isRunResumable } from "./step-transition.ts";

/** The result of a run at rest. */
export interface RunResult {
  readonly run_id: RunId;
  readonly plan_id: string | null;
  /** Present if the request named the intent that the plan answers. */
  readonly intent?: RecordedIntent;
  /** While an atomic plan is undone: rolling_back. While the run of a session takes calls: open. After it was closed, until its acts are settled: closing. */
  readonly status: EndStatus | "rolling_back" | "open" | "closing";
  /** Present if the run failed and nothing of it ran, because its plan or its calls were refused. */
  readonly rejected?: true;
  /** Present if the request was refused as a whole: this run is the record of it. */
  readonly refused?: Fault;
  /** Present if the run is the record of a dry run: what its plan would do. It has no steps. */
  readonly simulation?: Simulation;
  /**
   * True: the run has ended and does not continue by itself. Only a request can still move it: `resume` (or the same
   * request with `retryFailed`) a partial or failed run, `undo` its acts. False: the engine continues it by itself, or a
   * person, a signal or a timer continues it; `next` says which.
   */
  readonly final: boolean;
  /** Present if other plans have continued the run: the number of its plans, and of the questions to its replanner. */
  readonly replanned?: { readonly plans: number; readonly asked: number };
  /** Present if the plan is atomic and has aborted. */
  readonly rollback?: RollbackReport;
  readonly outcomes: readonly ResultOutcome[];
  readonly steps: Readonly<Record<string, StepResult>>;
  /** The same results as a list, in the order of the plan, with attempts and times. */
  readonly results: readonly StepReport[];
  readonly counts: StepCounts;
  readonly times: RunTimes;
  /** The versions of the state that its steps made. Null: none. */
  readonly versions: RunVersions | null;
  /** The steps of the plan in force that failed or were refused. */
  readonly failed: readonly FailedStep[];
  readonly gates: readonly OpenGate[];
  readonly blocked_on: readonly BlockedStep[];
  /** Present while the run is parked because several workers in a row died without progress of the run. */
  readonly poison?: { readonly since: Instant; readonly takeovers: readonly Takeover[] };
  /** Present while the run is parked because its rules are pinned and no live worker has them. */
  readonly rules_missing?: RulesChange & { readonly since: Instant };
  /** Present while the run is parked because it was in a restored backup. */
  readonly restored?: BackupRestore & { readonly since: Instant };
  /**
   * The next action, as a sentence. If it begins with "nothing to do", the engine continues the run by itself, at the
   * time it names. Null: the run has ended, and resuming it would change nothing. Of a run that was rolled back, it names an act that
   * was not undone.
   */
  readonly next: string | null;
  readonly spent: RunSpending;
}

export interface ResultOutcome {
  readonly outcome_id: string;
  readonly type: string;
  readonly status: "draft" | "final";
  readonly step_id: StepId;
  /** The beginning of the JSON text of its output. */
  readonly preview: string;
}

export interface FailedStep {
  readonly step_id: StepId;
  readonly state: string;
  readonly fault: Fault;
}

export interface BlockedStep {
  readonly step_id: StepId;
  readonly reason_code:
    | "REQUIRES_APPROVAL"
    | "REQUIRES_DATA"
    | "IN_DOUBT"
    | "WAITING_FOR_TIME"
    | "WAITING_FOR_KEY"
    | "WAITING_FOR_RATE"
    | "HALTED"
    | "WAITING_FOR_SIGNAL"
    | "WAITING_FOR_RUN"
    | "TOOL_MISSING"
    | "TOOL_AWAY"
    | "TOOL_CHANGED"
    | "HOST_AT_WORK"
    | "RULES_ELSEWHERE"
    | "COMPENSATING"
    | "RUN_PARKED"
    | "RETRYING";
  readonly gate_id?: GateId;
  /** The values that the gate asks for. */
  readonly asks_for?: readonly AskedValue[];
  readonly until?: Instant;
  readonly run_id?: RunId;
  readonly signal?: string;
  /** The halt that stops the step. */
  readonly halt?: Halt;
  /** The workers that have the tool and other rules, and those that have the rules of the run and not the tool. */
  readonly workers?: Pick<MissingWorker, "with_needs" | "with_rules">;
}

export function runResult(run: Run): RunResult {
  const steps: Record<string, StepResult> = Object.create(null);
  const results: StepReport[] = [];
  const outcomes: ResultOutcome[] = [];
  const failed: FailedStep[] = [];
  for (const step of run.steps) {
    const { standing, spec } = step;
    const result = stepResult(step);
    steps[spec.step_id] = result;
    results.push(stepReport(step, result));
    const outcome = outcomeOf(step);
    if (outcome !== null) outcomes.push(outcome);
    if (isFailed(standing) && !isReplaced(run, step))
      failed.push({ step_id: spec.step_id, state: standing.state, fault: standing.fault });
  }
  const blocked_on = blockedSteps(run);
  return {
    run_id: run.id,
    plan_id: run.plan?.plan_id ?? null,
    status: resultStatus(run),
    ...(run.request?.intent !== undefined && { intent: run.request.intent }),
    ...(run.ended?.as === "rejected" && { rejected: true }),
    ...(run.recordOf?.of === "refusal" && { refused: run.recordOf.fault }),
    ...(run.recordOf?.of === "dry_run" && { simulation: run.recordOf.simulation }),
    ...replannedField(run),
    final: run.ended !== null,
    ...(run.rollback !== null && { rollback: rollbackReport(run) as RollbackReport }),
    outcomes,
    steps: Object.setPrototypeOf(steps, Object.prototype), // Ten times as fast as a copy with a prototype.
    results,
    counts: countSteps(run),
    times: runTimes(run),
    versions: runVersions(run),
    failed,
    gates: openGates(run),
    blocked_on,
    ...(run.ended === null && run.parked !== null && parkedFields(run.parked, run.takeovers)),
    next: nextAction(run, blocked_on),
    spent: run.spent,
  };
}

function replannedField({ replanning }: Run): Pick<RunResult, "replanned"> {
  if (replanning === null || replanning.plans + replanning.asked === 1) return {};
  return { replanned: { plans: replanning.plans, asked: replanning.asked } };
}

function resultStatus({ ended, rollback, plan, open }: Run): RunResult["status"] {
  if (ended !== null) return ended.status;
  if (rollback !== null) return "rolling_back";
  if (plan !== null) return "partial";
  return open ? "open" : "closing";
}

function parkedFields(
  parked: Parked,
  takeovers: readonly Takeover[],
): Pick<RunResult, "poison" | "rules_missing" | "restored"> {
  if (parked.for === "restore") {
    const { since, incarnation, backup_at } = parked;
    return { restored: { since, incarnation, backup_at } };
  }
  if (parked.for === "takeovers") return { poison: { since: parked.since, takeovers } };
  const { since, from, to } = parked;
  return { rules_missing: { since, from, to } };
}

/** Returns the outcome of the step, or of the earlier step whose result it reuses. */
function outcomeOf({ standing, spec: { step_id, outcome } }: Step): ResultOutcome | null {
  if (standing.state !== "succeeded") return null;
  const { reused, output } = standing;
  if (standing.outcome !== null) {
    const { outcome_id, type, status } = standing.outcome;
    return { outcome_id, type, status, step_id, preview: jsonPreview(output) };
  }
  if (reused === null || outcome === null) return null;
  return { outcome_id: outcomeId(reused.run, reused.step), ...outcome, step_id, preview: jsonPreview(output) };
}

function isFailed(standing: Step["standing"]): standing is Extract<Step["standing"], { fault: Fault }> {
  return ["failed_final", "rejected", "compensation_failed"].includes(standing.state);
}

function* waitingSteps(run: Run): Iterable<Step> {
  const found = Array.from(run.waiting, ([id]) => run.steps.get(run.index.get(id) as number));
  yield* found.sort((left, right) => left.index - right.index);
}

/** The gates a person can decide now, in the order of their steps. */
function openGates(run: Run): readonly OpenGate[] {
  const gates: OpenGate[] = [];
  for (const { standing, spec } of waitingSteps(run)) {
    if (standing.state === "waiting_approval")
      gates.push(toOpenGate(run.gates.get(standing.gate_id) as Gate, spec.name));
  }
  return gates;
}

function blockedSteps(run: Run): readonly BlockedStep[] {
  const blocked: BlockedStep[] = [];
  for (const step of waitingSteps(run)) blocked.push(toBlockedStep(run, step));
  return blocked;
}

export function toBlockedStep({ gates }: Pick<Run, "gates">, { standing, spec: { step_id } }: Step): BlockedStep {
  switch (standing.state) {
    case "waiting_approval":
      return blockedAtGate(step_id, gates.get(standing.gate_id) as Gate);
    case "in_doubt": {
      const { next } = standing.doubt;
      return next.do === "look_again"
        ? { step_id, reason_code: "IN_DOUBT", until: next.at }
        : { step_id, reason_code: "IN_DOUBT" };
    }
    case "failed_retryable":
      return { step_id, reason_code: "RETRYING", until: standing.retry_at };
    case "running":
      return { step_id, reason_code: "HOST_AT_WORK", ...(standing.until !== undefined && { until: standing.until }) };
    case "waiting":
      if (standing.on.for === "tool") return { step_id, reason_code: missingToolCode(standing.on.fault) };
      if (standing.on.for === "key")
        return { step_id, reason_code: "WAITING_FOR_KEY", run_id: standing.on.owner, until: standing.on.until };
      if (standing.on.for === "signal") return blockedOnSignal(step_id, standing.on);
      if (standing.on.for === "halt") return { step_id, reason_code: "HALTED", halt: standing.on.halt };
      if (standing.on.for === "rate") return { step_id, reason_code: "WAITING_FOR_RATE", until: standing.on.until };
      return { step_id, reason_code: "WAITING_FOR_TIME", until: standing.on.until };
    default:
      return { step_id, reason_code: "COMPENSATING" };
  }
}

function blockedAtGate(step_id: StepId, { gate_id, asks_for }: Gate): BlockedStep {
  return asks_for === undefined
    ? { step_id, reason_code: "REQUIRES_APPROVAL", gate_id }
    : { step_id, reason_code: "REQUIRES_DATA", gate_id, asks_for };
}

function missingToolCode({ code }: Fault): "TOOL_MISSING" | "TOOL_CHANGED" | "TOOL_AWAY" {
  return code === "TOOL_CHANGED" || code === "TOOL_AWAY" ? code : "TOOL_MISSING";
}

function blockedOnSignal(step_id: StepId, { box, until }: Extract<Parking, { for: "signal" }>): BlockedStep {
  const run_id = awaitedChildRun(box.key);
  if (run_id !== null) return { step_id, reason_code: "WAITING_FOR_RUN", run_id };
  const blocked = { step_id, reason_code: "WAITING_FOR_SIGNAL", signal: box.key } as const;
  return until === null ? blocked : { ...blocked, until };
}

/** Returns a result that says which workers have the tools of its waiting steps, and which have the rules of the run. */
export function withRulesElsewhere<Result extends RunResult>(result: Result, missing: MissingWorker): Result {
  const { with_needs, with_rules } = missing;
  const blocked_on = result.blocked_on.map((blocked): BlockedStep => {
    const isTool = blocked.reason_code === "TOOL_MISSING" || blocked.reason_code === "TOOL_CHANGED";
    if (!isTool) return blocked;
    return { step_id: blocked.step_id, reason_code: "RULES_ELSEWHERE", workers: { with_needs, with_rules } };
  });
  const first = blocked_on.find(needsPerson);
  return { ...result, blocked_on, ...(first && { next: nextActionText({ id: result.run_id }, first) }) };
}

/** Prefers an action of a person over a step that continues by itself. */
function nextAction(run: Run, blocked: readonly BlockedStep[]): string | null {
  if (run.parked !== null && run.ended === null) return parkedAction(run.id, run.parked);
  const first = blocked.find(needsPerson) ?? blocked[0];
  if (first !== undefined) return nextActionText(run, first);
  if (run.ended !== null && run.rollback !== null) return afterRollback(run);
  const unfinished = run.ended?.status === "partial" || run.ended?.status === "failed";
  if (!unfinished || !isRunResumable(run)) return null;
  const again = run.request === null ? "" : ", or submit its request again with retryFailed";
  return `the run has ended: fix the cause, then resume run ${run.id}${again}`;
}

/** A person can request a compensation that has failed again, for each act by itself. */
function afterRollback(run: Run): string | null {
  const failed = rollbackReport(run)?.acts.find(({ undone }) => undone === "failed");
  if (failed === undefined) return null;
  return `find out why ${failed.step_id} of run ${run.id} was not undone, then resolve it as undo`;
}

function parkedAction(id: RunId, parked: Parked): string {
  if (parked.for === "takeovers") return `find out what kills its workers, then resume run ${id} or cancel it`;
  if (parked.for === "restore")
    return `check what run ${id} did after the backup that was restored, then resume run ${id} or cancel it`;
  return `start a worker with the rules of the run, or resume run ${id} to accept the rules of now, or cancel it`;
}

function needsPerson({ reason_code, until }: BlockedStep): boolean {
  if (reason_code === "IN_DOUBT") return until === undefined;
  return [
    "REQUIRES_APPROVAL",
    "REQUIRES_DATA",
    "TOOL_MISSING",
    "TOOL_CHANGED",
    "TOOL_AWAY",
    "RULES_ELSEWHERE",
    "HALTED",
    "WAITING_FOR_SIGNAL",
  ].includes(reason_code);
}

function nextActionText(
  run: Pick<Run, "id">,
  { reason_code, step_id, gate_id, signal, run_id, halt, until, asks_for = [] }: BlockedStep,
): string {
  switch (reason_code) {
    case "HALTED":
      return `${halt?.by} halted ${halt?.over}; lift the halt to continue ${step_id}`;
    case "REQUIRES_APPROVAL":
      return `approve or reject gate ${gate_id}`;
    case "REQUIRES_DATA":
      return `supply ${askedText(asks_for)} at gate ${gate_id}, or reject it`;
    case "IN_DOUBT":
      if (until !== undefined)
        return `nothing to do: the engine checks again${timeText(until)} whether ${step_id} happened`;
      return `find out whether ${step_id} happened, then resolve it: happened, absent, undo or give up`;
    case "WAITING_FOR_SIGNAL":
      return `send the signal ${signal} that ${step_id} waits for${until === undefined ? "" : `, which stops waiting${timeText(until)}`}`;
    case "WAITING_FOR_RUN":
      return `nothing to do here: ${step_id} waits for run ${run_id}; check that run`;
    case "RULES_ELSEWHERE":
      return `give the worker with the tool of ${step_id} the rules of run ${run.id}, or stop the workers that have them`;
    case "TOOL_MISSING":
    case "TOOL_CHANGED":
      return `register the tool that ${step_id} was accepted with, or cancel run ${run.id}`;
    case "TOOL_AWAY":
      return `nothing to do here: ${step_id} continues where its tool is, or when its agent proposes it again`;
    case "HOST_AT_WORK":
      return `nothing to do here: the host of the agent does ${step_id}, and reports its end${timeText(until)} at the latest`;
    case "RUN_PARKED":
      return `release run ${run.id} first`;
    case "RETRYING":
      return `nothing to do: the engine tries ${step_id} again${timeText(until)}`;
    case "WAITING_FOR_KEY":
      return `nothing to do: run ${run_id} is doing the act of ${step_id}; the engine checks again${timeText(until)}`;
    case "WAITING_FOR_TIME":
    case "WAITING_FOR_RATE":
    case "COMPENSATING":
      return `nothing to do: ${step_id} continues by itself${timeText(until)}`;
  }
}

function timeText(until: Instant | undefined): string {
  return until === undefined ? "" : ` at ${utcText(until)}`;
}
