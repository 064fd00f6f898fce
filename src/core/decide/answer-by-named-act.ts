import type { Verdict } from "../call/guard.ts";
import type { LedgerFact } from "../call/proposal.ts";
import type { Call } from "../event/event.ts";
import type { ActNaming, NamedAct } from "../event/left-act.ts";
import type { ReuseSource } from "../event/reuse-source.ts";
import { branchActsOf, leftActKey } from "../run/branch-acts.ts";
import { findStep, type Gate, getStep, type Run } from "../run/run.ts";
import { type Step, stepPace } from "../run/step.ts";
import type { LedgerRow } from "../store/tables.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { RunId, StepId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";
import type { ActNamedByApprover } from "./act-named-by-approver.ts";
import type { CommandOf } from "./command.ts";
import { findApproval } from "./find-approval.ts";
import { openGate } from "./open-gate.ts";
import type { PartialDecision } from "./partial-decision.ts";

/** The answer to an approver who names an earlier act. All approvers of a gate name the same one. */
export type Naming =
  | { readonly kind: "named"; readonly act: NamedAct; readonly row: { readonly naming?: ActNaming } }
  | { readonly kind: "refused"; readonly fault: Fault };

/** Decides whether the receipt of an earlier act may answer a held call. An act answers one call after a branch. */
export function nameAct(run: Run, gate: Gate, same: ActNamedByApprover | undefined): Naming {
  if (gate.votes.length > 0 && saidText(run, gate) !== saidText(run, sameFields(run, same))) {
    const said = saidText(run, gate);
    const message = `an approver of gate ${gate.gate_id} says that the call is ${said}; agree, or reject it`;
    return { kind: "refused", fault: fault("GATE_MISMATCH", message) };
  }
  if (same === undefined) return { kind: "named", act: {}, row: {} };
  const id = same.run_id === run.id ? same.step_id : leftActKey(same);
  const why = unnameable(run, gate, same);
  if (why !== null) return { kind: "refused", fault: fault("NOT_POSSIBLE", `${id} ${why}`) };
  const { named, branch } = same;
  const isOwn = named !== null && named.run_id === run.id && named.step_id === gate.step_id;
  const row = isOwn || branch === null ? {} : { naming: { branch, version: (named?.version ?? 0) + 1 } };
  return { kind: "named", act: sameFields(run, same), row };
}

function sameFields({ id }: Run, same: ActNamedByApprover | undefined): NamedAct {
  if (same === undefined) return {};
  const { run_id, step_id: same_as } = same;
  return run_id === id ? { same_as } : { same_as, same_in: run_id };
}

function saidText(run: Run, { same_as, same_in }: NamedAct): string {
  if (same_as === undefined) return "another act";
  return `the same as ${same_in === undefined || same_in === run.id ? same_as : `${same_in}/${same_as}`}`;
}

/** Returns why the act cannot answer the call of the gate, or null. */
function unnameable(
  run: Run,
  gate: Gate,
  { run_id, step_id, branch, ledger, named }: ActNamedByApprover,
): string | null {
  const { spec } = getStep(run, gate);
  const acts = branchActsOf(run, spec.name);
  const act = acts.find((each) => each.run_id === run_id && each.step_id === step_id);
  if (act === undefined || act.branch !== branch)
    return `is no earlier act that gate ${gate.gate_id} shows; name one of them`;
  const own = run_id === run.id ? findStep(run, step_id) : undefined;
  const isDone = own === undefined ? isReceiptOf(ledger, run_id, step_id) : isUsable(own);
  const state = own === undefined ? (ledger?.state ?? act.state) : own.act?.state;
  if (!isDone) return `is ${state}, so it has no receipt; resolve it first`;
  if (named === null || (named.run_id === run.id && named.step_id === gate.step_id)) return null;
  const isFree = named.run_id === run.id ? !usesReceipt(run, named.step_id, { run_id, step_id }) : named.isFree;
  if (isFree) return null;
  const call = named.run_id === run.id ? named.step_id : `${named.run_id}/${named.step_id}`;
  return `answers the call ${call}, and answers one call; approve this one as another act, or reject it`;
}

/** True if the receipt of an act answers the call, or will: an approver has named the act, and the call has not ended. */
export function usesReceipt(
  run: Run,
  call: StepId,
  act: { readonly run_id: RunId; readonly step_id: StepId },
): boolean {
  const step = findStep(run, call);
  if (step === undefined) return false;
  const { standing, gate } = step;
  if (standing.state === "succeeded")
    return standing.reused?.run === act.run_id && standing.reused.step === act.step_id;
  if (stepPace(standing) === "done" || gate === null) return false;
  const { same_as, same_in = run.id } = run.gates.get(gate) ?? {};
  return same_as === act.step_id && same_in === act.run_id;
}

function isUsable({ act }: Step): boolean {
  return act?.state === "committed" && act.usable;
}

/** True if the ledger row proves this act. A repeat that was approved elsewhere has taken the row over. */
function isReceiptOf(row: LedgerRow | null, run_id: RunId, step_id: StepId): boolean {
  return row !== null && row.state === "committed" && row.usable && row.run_id === run_id && row.step_id === step_id;
}

interface EarlierReceipt {
  readonly output: Json;
  readonly reused: ReuseSource;
  readonly checks: NonNullable<PartialDecision["checks"]>;
}

/** Answers a call with the receipt of an earlier act. The approvers named this act. Null: they named no act. */
export function answerByNamedAct(
  run: Run,
  step: Step,
  command: CommandOf<"start">,
  verdict: Verdict,
): PartialDecision | null {
  const { proposal, now } = command;
  const { call } = proposal;
  const demand = verdict.kind === "hold" ? verdict.demand : null;
  const gate = call === null ? null : findApproval(run, step, call, demand, now);
  if (call === null || gate?.same_as === undefined || step.act !== null) return null;
  if (gate.same_in !== undefined && proposal.same === undefined) return { events: [], need: "same_act" };
  const found =
    gate.same_in === undefined
      ? ownReceipt(run, gate.same_as, call)
      : otherReceipt({ run_id: gate.same_in, step_id: gate.same_as }, call, proposal.same ?? null);
  if (found === null) {
    const message = `${gate.same_as} no longer has a receipt that could answer ${step.spec.step_id}`;
    const { rule, reason } = gate;
    const request = { rule, reason, demand: gate.demand, duplicate: null, stale: fault("NOT_POSSIBLE", message) };
    return openGate(run, step, call, command, request);
  }
  const event = { type: "step.succeeded", at: now, step_id: step.spec.step_id, attempt: step.attempts } as const;
  const { output, reused, checks } = found;
  const receipt = { output, world: "side_effect_committed", reused } as const;
  const basis = verdict.basis && { basis: verdict.basis };
  return { events: [{ ...event, started_at: now, ...receipt, ...basis }], ...(checks.length > 0 && { checks }) };
}

function ownReceipt(run: Run, step_id: StepId, { digest }: Call): EarlierReceipt | null {
  const earlier = getStep(run, { step_id });
  const { act, standing, call } = earlier;
  if (act === null || !isUsable(earlier)) return null;
  const at = standing.state === "succeeded" ? standing.at : act.started_at;
  return {
    output: act.output,
    reused: { run: run.id, step: step_id, at, differs: differsText(call?.digest === digest) },
    checks: [],
  };
}

function otherReceipt(
  { run_id, step_id }: { readonly run_id: RunId; readonly step_id: StepId },
  { digest }: Call,
  fact: LedgerFact | null,
): EarlierReceipt | null {
  if (fact === null || fact.receipt === null || !isReceiptOf(fact.row, run_id, step_id)) return null;
  const { row, receipt, version } = fact;
  const reused = { run: run_id, step: step_id, at: receipt.at, differs: differsText(row.input_digest === digest) };
  return { output: receipt.output, reused, checks: [{ table: "ledger", key: row.key, was: version }] };
}

function differsText(isEqual: boolean): string | null {
  return isEqual ? null : "the earlier call had another input";
}
