import type { ToolFacts } from "../call/proposal.ts";
import type { Event, Notice } from "../event/event.ts";
import { findStep, type Run } from "../run/run.ts";
import { startsNoMore } from "../run/starts-no-more.ts";
import { CALL_WITHIN_MS, isHostAtWork, type Step } from "../run/step.ts";
import { assert } from "../values/assert.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { Digest, Instant } from "../values/ids.ts";
import type { CommandOf, RecoveryFinding, WorkerRules } from "./command.ts";
import { doubtNotices } from "./doubt-notice.ts";
import { doubtExits, nextLedgerVersion, outcomeUnknownFault } from "./end-attempt.ts";
import { settleCharges } from "./limit-charges.ts";
import type { PartialDecision } from "./partial-decision.ts";
import { recordTakeover } from "./record-takeover.ts";
import { retryAt } from "./retry-policy.ts";
import { actVersionAfter, releasedCharges } from "./settle-doubt.ts";

/**
 * A worker that has claimed the run recovers the steps that the previous worker left unfinished. If the worker has other
 * rules than the run, it adopts the run first.
 */
export function recoverRun(run: Run, { found, taken, rules, now }: CommandOf<"recover">): PartialDecision {
  const adopted = rules === null ? [] : adoptRules(run, rules, now);
  if (adopted.some(({ type }) => type === "run.parked")) return { events: adopted };
  const recovered = found.flatMap((item) => recoverStep(run, item, now));
  return { events: [...adopted, ...recovered, ...(taken === null ? [] : recordTakeover(run, taken, now))] };
}

/**
 * Records that the calls of the run are judged by the rules of this worker from now on, or parks a run whose rules are
 * pinned. An ended run starts no calls.
 */
function adoptRules(run: Run, { worker: by, digest: to }: WorkerRules, at: Instant): readonly Event[] {
  const from = run.rules?.digest ?? null;
  if (run.ended !== null || (from === to && run.parked?.for !== "rules")) return [];
  // Another worker has parked it for its rules, or a person has to release it first.
  if (run.parked !== null && (from !== to || run.parked.for !== "rules")) return [];
  if (from === to || run.rules?.pinned !== true) return [{ type: "run.rules_adopted", at, from, to, by }];
  return [{ type: "run.parked", at, from, to, by, notices: [parkedNotice(run, from, to, at)] }];
}

/** "!" keeps the id apart from step notices: no step id contains it. */
function parkedNotice(run: Run, from: Digest | null, to: Digest, at: Instant): Notice {
  const notice_id = `ntc_${run.id.slice("run_".length)}_!rules_${run.position + 1}`;
  return { notice_id, topic: "run.parked", payload: { run_id: run.id, rules: { from, to }, at } };
}

function recoverStep(run: Run, { step_id, mark, alive, tool }: RecoveryFinding, at: Instant): readonly Event[] {
  const step = findStep(run, step_id);
  assert(step !== undefined, "only a step of the run is recovered");
  if (step.standing.state === "waiting" && step.standing.on.for === "tool") {
    return tool === null ? [] : [{ type: "step.readied", at, step_id, why: "its tool is available" }];
  }
  if (step.standing.state === "in_doubt") return renewDoubt(step, step.standing, { tool, alive }, at);
  if (step.standing.state !== "running") return [];
  // The host continues its work without the worker. It has not begun if the worker died before it told the host.
  if (isHostAtWork(step) && mark !== "no") return [];
  if (step.act === null && step.failure !== null && !startsNoMore(run, step))
    return [failedEvent(run, step, step.standing, { tool, why: step.failure, at })];
  if (step.act === null) return [{ type: "step.readied", at, step_id, why: "its worker died" }];
  const ledger = actVersionAfter(step);
  if (mark === "no" && step.act.doubt === null) {
    const reason = "the send marker is missing: the tool was never called";
    const settled = { as: "not_done" } as const;
    return [
      { type: "step.settled", at, step_id, settled, by: "marker", reason, ledger, ...releasedCharges(step, settled) },
    ];
  }
  const cause = fault("OUTCOME_UNKNOWN", "its worker died after the call may have been sent");
  const exits = doubtExits(step, tool, step.act.sent_at, (at + CALL_WITHIN_MS) as Instant);
  const why = outcomeUnknownFault(step, cause);
  return [
    {
      type: "step.doubted",
      at,
      step_id,
      attempt: step.act.attempt,
      fault: why,
      ledger,
      exits,
      ...(alive && { alive }),
      ...doubtNotices(run, step, step.act, { fault: why, exits, at }),
    },
  ];
}

/** Without its tool, only the fault decides about retries. */
const unknownTool = { tries: null, retry: "named", asks: null } as const;

/** Ends an attempt whose fault is on record: its worker died while it restored the resources of the call. */
function failedEvent(
  run: Run,
  step: Step,
  { attempt, started_at }: Extract<Step["standing"], { state: "running" }>,
  { tool, why, at }: { readonly tool: ToolFacts | null; readonly why: Fault; readonly at: Instant },
): Event {
  const retry_at = retryAt(run, step, tool ?? unknownTool, why, { attempt, now: at, dice: 0 });
  const charges = settleCharges(step, [], { cost: null, ms: 0, for: "unknown" });
  return {
    type: "step.failed",
    at,
    step_id: step.spec.step_id,
    attempt,
    started_at,
    fault: why,
    retry_at,
    world: retry_at === null ? "permanent_failure" : "retryable_failure",
    ...(retry_at === null && { sparing: [] }),
    ...(charges.length > 0 && { charges }),
  };
}

/** Renews a doubt if its handler runs no more, or if this worker has a verifier that the last one lacked. */
function renewDoubt(
  step: Step,
  { doubt, fault: why }: InDoubt,
  { tool, alive }: Pick<RecoveryFinding, "tool" | "alive">,
  at: Instant,
): readonly Event[] {
  const { act, spec } = step;
  const canVerify = tool?.verifies === true && !doubt.exits.verify;
  const hasEnded = doubt.alive && !alive;
  if (!hasEnded && !canVerify) return [];
  assert(act !== null, "only an act is in doubt");
  const exits = doubtExits(step, tool, act.sent_at, at);
  const { step_id } = spec;
  const renewed = { step_id, attempt: act.attempt, fault: why, ledger: nextLedgerVersion(act), exits } as const;
  return [{ type: "step.doubted", at, ...renewed, ...(doubt.alive && alive && { alive }) }];
}

type InDoubt = Extract<Step["standing"], { state: "in_doubt" }>;
