import { trustCondition } from "../approval/earned-trust.ts";
import type { CallLimit } from "../call/counted-limits.ts";
import type { Verdict } from "../call/guard.ts";
import type { Proposal } from "../call/proposal.ts";
import type { Event } from "../event/event.ts";
import type { LedgerRowVersion } from "../event/ledger-row-version.ts";
import type { LimitedCharge } from "../limits/tally-charge.ts";
import type { Gate, Run } from "../run/run.ts";
import { isReversal, type Step } from "../run/step.ts";
import { assert } from "../values/assert.ts";
import type { Instant } from "../values/ids.ts";
import type { CommandOf, Grant } from "./command.ts";
import { startCharges } from "./limit-charges.ts";

type StartedEvent = Extract<Event, { type: "step.started" }>;

/** The things that the start of an attempt acquires. */
interface Acquired {
  readonly grant: Grant;
  readonly gate: Gate | null;
  readonly limits: readonly CallLimit[];
  readonly ledger: LedgerRowVersion | null;
}

/** Returns the event that records the start of an attempt, with the approval and the charges that it uses. */
export function startedEvent(
  run: Pick<Run, "deadline_at" | "plan">,
  step: Step,
  { proposal, now }: CommandOf<"start">,
  verdict: Verdict,
  { grant, gate, limits, ledger }: Acquired,
): StartedEvent {
  const { step_id, attempt } = grant;
  const { call, boot, worker, captures, external } = proposal;
  assert(call !== null && captures !== "wanted", "a recorded start has its call and its captures");
  const consumed =
    gate === null || gate.status === "consumed" ? null : { gate_id: gate.gate_id, version: gate.version + 1 };
  const charges = [...startCharges(limits, !isReversal(step)), ...trustConditions(step, proposal, verdict)];
  return {
    type: "step.started",
    at: now,
    step_id,
    attempt,
    call,
    ledger,
    gate: consumed,
    boot,
    // A host that does the work itself can be any process.
    ...(ledger !== null && external === undefined && { worker }),
    ...(verdict.basis && { basis: verdict.basis }),
    ...(charges.length > 0 && { charges }),
    ...(captures.length > 0 && { captures }),
    ...(ledger !== null && confirmField(step, proposal)),
    ...(ledger !== null && reversibleField(run, step, proposal)),
    ...externalField(run, proposal, now),
  };
}

/** The reaction that the tool demands if the act is not found later. An undo is not relied on. */
function confirmField(step: Step, { tool }: Proposal): Pick<StartedEvent, "confirm"> {
  return tool === null || tool.confirm === "none" || isReversal(step) ? {} : { confirm: tool.confirm };
}

/** The rollback of an atomic plan undoes the acts whose tools declared a compensation when they were started. */
function reversibleField(
  { plan }: Pick<Run, "plan">,
  step: Step,
  { tool }: Proposal,
): Pick<StartedEvent, "reversible"> {
  const isUndone = plan?.atomicity === "plan" && !isReversal(step) && tool?.compensates === true;
  return isUndone ? { reversible: true } : {};
}

/** A call without a hold may rely on earned trust. The condition fails if the trust is forfeited at the same time. */
function trustConditions(step: Step, { record }: Proposal, verdict: Verdict): readonly LimitedCharge[] {
  return record === null || verdict.kind === "hold" || isReversal(step) ? [] : [trustCondition(record)];
}

/** The host has its time, at most until the deadline of the run. */
function externalField(
  { deadline_at }: Pick<Run, "deadline_at">,
  { external }: Proposal,
  now: Instant,
): Pick<StartedEvent, "external"> {
  if (external === undefined) return {};
  const end = now + external.for_ms;
  const until = Math.max(now + 1, deadline_at === null ? end : Math.min(end, deadline_at)) as Instant;
  return { external: { token: external.token, until } };
}
