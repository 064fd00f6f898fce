import { awaitedRun } from "./child.ts";
import type { Demand, Vote } from "./demand.ts";
import type { EndStatus, Reused, Takeover } from "./event.ts";
import type { Fault } from "./fault.ts";
import type { GateId, Instant, RunId, StepId } from "./id.ts";
import type { Json } from "./json/json.ts";
import type { Estimate } from "./limits/budget.ts";
import type { Parking } from "./parking.ts";
import { isResumable } from "./place.ts";
import type { Poison } from "./poison.ts";
import type { Preview } from "./preview.ts";
import type { Halt } from "./rows.ts";
import { type Gate, outcomeId, type Run, type Spent, type Step } from "./run.ts";

/** What a run has to show, at rest. `partial` is never said of something that is whole, nor `completed` of something that is not. */
export interface RunResult {
  readonly run_id: RunId;
  readonly plan_id: string | null;
  readonly status: EndStatus;
  /** False: someone or some time can still move it. */
  readonly final: boolean;
  readonly outcomes: readonly ResultOutcome[];
  readonly steps: Readonly<Record<string, StepResult>>;
  readonly failed: readonly FailedStep[];
  readonly gates: readonly OpenGate[];
  readonly blocked_on: readonly Blocked[];
  /** Present while the run is parked, because workers that held it were lost in turn and nothing came of it. */
  readonly poison?: Poison & { readonly takeovers: readonly Takeover[] };
  /** What to do now, in a sentence; null when there is nothing to do. */
  readonly next: string | null;
  readonly spent: Spent;
}

export interface ResultOutcome {
  readonly outcome_id: string;
  readonly type: string;
  readonly status: "draft" | "final";
  readonly step_id: StepId;
}

export type StepResult =
  | { readonly state: "succeeded"; readonly output: Json; readonly reused?: Reused }
  | { readonly state: "waiting_approval"; readonly gate_id: GateId }
  | {
      readonly state: "failed_retryable" | "failed_final" | "rejected" | "skipped" | "compensation_failed";
      readonly fault: Fault;
    }
  /** `attempt`: which one it is that may have happened. */
  | { readonly state: "in_doubt"; readonly fault: Fault; readonly attempt: number }
  | { readonly state: "compensated"; readonly confirmed: boolean }
  | { readonly state: "pending" | "ready" | "waiting" | "running" | "cancelled" | "compensating" };

export interface FailedStep {
  readonly step_id: StepId;
  readonly state: string;
  readonly fault: Fault;
}

export interface OpenGate {
  readonly gate_id: GateId;
  readonly step_id: StepId;
  readonly tool: string;
  readonly input: Json;
  readonly digest: string;
  readonly reason: string;
  readonly expires_at: Instant;
  /** Who has to say yes, and who has. */
  readonly demand: Demand;
  readonly votes: readonly Vote[];
  /** What it is expected to cost; null: nobody can tell. */
  readonly estimate: Estimate | null;
  /** Whether it can be undone, or put back; null: there is nothing to undo. */
  readonly reversible: boolean | null;
  /** The version of the rules that hold it; null: only those that always stand. */
  readonly policy: string | null;
  /** What it would do, as far as that can be told; null: nothing can. */
  readonly preview: Preview | null;
  /** Present: why a yes that was given is none any more. */
  readonly stale?: Fault;
}

export interface Blocked {
  readonly step_id: StepId;
  readonly reason_code:
    | "REQUIRES_APPROVAL"
    | "IN_DOUBT"
    | "WAITING_FOR_TIME"
    | "WAITING_FOR_KEY"
    | "WAITING_FOR_RATE"
    | "HALTED"
    | "WAITING_FOR_SIGNAL"
    | "WAITING_FOR_RUN"
    | "TOOL_MISSING"
    | "TOOL_CHANGED"
    | "COMPENSATING"
    | "RETRYING";
  readonly gate_id?: GateId;
  readonly until?: Instant;
  readonly run_id?: RunId;
  readonly signal?: string;
  /** Who keeps it from beginning, and why. */
  readonly halt?: Halt;
}

export function resultOf(run: Run): RunResult {
  const steps: Record<string, StepResult> = Object.create(null);
  const outcomes: ResultOutcome[] = [];
  const failed: FailedStep[] = [];
  for (const step of run.steps) {
    const { standing, spec } = step;
    steps[spec.step_id] = stepResult(step);
    const outcome = outcomeOf(step);
    if (outcome !== null) outcomes.push(outcome);
    if (isFailed(standing)) failed.push({ step_id: spec.step_id, state: standing.state, fault: standing.fault });
  }
  const blocked_on = blocks(run);
  return {
    run_id: run.id,
    plan_id: run.plan?.plan_id ?? null,
    status: run.ended?.status ?? "partial",
    final: run.ended !== null,
    outcomes,
    steps: Object.setPrototypeOf(steps, Object.prototype), // A copy with a prototype would take ten times as long.
    failed,
    gates: openGates(run),
    blocked_on,
    ...(isParked(run) && { poison: { ...run.poison, takeovers: run.takeovers } }),
    next: nextStep(run, blocked_on),
    spent: run.spent,
  };
}

/** What has ended moves no more, whatever it was. */
function isParked(run: Run): run is Run & { readonly poison: Poison } {
  return run.poison !== null && run.ended === null;
}

/** What the step made, or what an earlier one made that answers for it. */
function outcomeOf({ standing, spec: { step_id, outcome } }: Step): ResultOutcome | null {
  if (standing.state !== "succeeded") return null;
  const { reused } = standing;
  if (standing.outcome !== null) {
    const { outcome_id, type, status } = standing.outcome;
    return { outcome_id, type, status, step_id };
  }
  if (reused === null || outcome === null) return null;
  return { outcome_id: outcomeId(reused.run, reused.step), ...outcome, step_id };
}

function isFailed(standing: Step["standing"]): standing is Extract<Step["standing"], { fault: Fault }> {
  return ["failed_final", "rejected", "compensation_failed"].includes(standing.state);
}

function stepResult({ standing, attempts }: Step): StepResult {
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

function* waitingSteps(run: Run): Iterable<Step> {
  const found = Array.from(run.waiting, ([id]) => run.steps.get(run.index.get(id) as number));
  yield* found.sort((left, right) => left.index - right.index);
}

/** The gates a person can decide now, in the order of their steps. */
function openGates(run: Run): readonly OpenGate[] {
  const gates: OpenGate[] = [];
  for (const { standing, spec } of waitingSteps(run)) {
    if (standing.state === "waiting_approval") gates.push(shown(run.gates.get(standing.gate_id) as Gate, spec.name));
  }
  return gates;
}

function shown(gate: Gate, tool: string): OpenGate {
  const { gate_id, step_id, call } = gate;
  return { gate_id, step_id, tool, input: call.input, digest: call.digest, ...termsOf(gate) };
}

/** What a gate asks for, and what a person should know who is asked. */
export function termsOf(gate: Gate): Omit<OpenGate, "gate_id" | "step_id" | "tool" | "input" | "digest"> {
  const { reason, expires_at, demand, votes, stale } = gate;
  return {
    reason,
    expires_at,
    demand,
    votes,
    estimate: gate.estimate ?? null,
    reversible: gate.reversible ?? null,
    policy: gate.basis?.policy ?? null,
    preview: gate.preview ?? null,
    ...(stale && { stale }),
  };
}

function blocks(run: Run): readonly Blocked[] {
  const blocked: Blocked[] = [];
  for (const step of waitingSteps(run)) blocked.push(block(step));
  return blocked;
}

function block({ standing, spec: { step_id } }: Step): Blocked {
  switch (standing.state) {
    case "waiting_approval":
      return { step_id, reason_code: "REQUIRES_APPROVAL", gate_id: standing.gate_id };
    case "in_doubt": {
      const { next } = standing.doubt;
      return next.do === "look_again"
        ? { step_id, reason_code: "IN_DOUBT", until: next.at }
        : { step_id, reason_code: "IN_DOUBT" };
    }
    case "failed_retryable":
      return { step_id, reason_code: "RETRYING", until: standing.retry_at };
    case "waiting":
      if (standing.on.for === "tool")
        return { step_id, reason_code: standing.on.fault.code === "TOOL_CHANGED" ? "TOOL_CHANGED" : "TOOL_MISSING" };
      if (standing.on.for === "key")
        return { step_id, reason_code: "WAITING_FOR_KEY", run_id: standing.on.owner, until: standing.on.until };
      if (standing.on.for === "signal") return awaited(step_id, standing.on);
      if (standing.on.for === "halt") return { step_id, reason_code: "HALTED", halt: standing.on.halt };
      if (standing.on.for === "rate") return { step_id, reason_code: "WAITING_FOR_RATE", until: standing.on.until };
      return { step_id, reason_code: "WAITING_FOR_TIME", until: standing.on.until };
    default:
      return { step_id, reason_code: "COMPENSATING" };
  }
}

function awaited(step_id: StepId, { box, until }: Extract<Parking, { for: "signal" }>): Blocked {
  const run_id = awaitedRun(box.key);
  if (run_id !== null) return { step_id, reason_code: "WAITING_FOR_RUN", run_id };
  const blocked = { step_id, reason_code: "WAITING_FOR_SIGNAL", signal: box.key } as const;
  return until === null ? blocked : { ...blocked, until };
}

/** What someone can do comes before what time will do. */
function nextStep(run: Run, blocked: readonly Blocked[]): string | null {
  if (isParked(run)) return `find out what kills its workers, then resume run ${run.id} or cancel it`;
  const first = blocked.find(needsSomeone) ?? blocked[0];
  if (first !== undefined) return hint(run, first);
  const unfinished = run.ended?.status === "partial" || run.ended?.status === "failed";
  return unfinished && isResumable(run) ? `mend the cause, then resume run ${run.id}` : null;
}

function needsSomeone({ reason_code, until }: Blocked): boolean {
  if (reason_code === "IN_DOUBT") return until === undefined;
  return ["REQUIRES_APPROVAL", "TOOL_MISSING", "TOOL_CHANGED", "HALTED", "WAITING_FOR_SIGNAL"].includes(reason_code);
}

function hint(run: Run, { reason_code, step_id, gate_id, signal, run_id, halt }: Blocked): string {
  switch (reason_code) {
    case "HALTED":
      return `${halt?.by} halted ${halt?.over}; lift the halt when ${step_id} may go on`;
    case "REQUIRES_APPROVAL":
      return `approve or reject gate ${gate_id}`;
    case "IN_DOUBT":
      return `find out whether ${step_id} happened, then resolve it: happened, absent, undo or give up`;
    case "WAITING_FOR_SIGNAL":
      return `send the signal ${signal} that ${step_id} waits for`;
    case "WAITING_FOR_RUN":
      return `nothing to do here: ${step_id} waits for run ${run_id}; see where that one stands`;
    case "TOOL_MISSING":
    case "TOOL_CHANGED":
      return `register the tool that ${step_id} was accepted with, or cancel run ${run.id}`;
    default:
      return `nothing to do: ${step_id} goes on by itself when its time comes`;
  }
}
