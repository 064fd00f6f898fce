import type { Proposal } from "../../core/call/proposal.ts";
import type { CommandOf } from "../../core/decide/command.ts";
import type { Decision } from "../../core/decide/decide.ts";
import type { MissingFact } from "../../core/decide/partial-decision.ts";
import { actsToConfirm } from "../../core/decide/reliance-on-acts.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import { findStep, type Run, type Step } from "../../core/run/run.ts";
import { assert } from "../../core/values/assert.ts";
import type { Instant } from "../../core/values/ids.ts";
import { ConditionFailedError, FencedError } from "../journal/append-errors.ts";
import { policyJournal } from "../journal/journal-names.ts";
import { downstreamKey } from "../ports/digest.ts";
import { recordBudgetAlerts } from "./budget-alerts.ts";
import type { CallContext } from "./call-context.ts";
import type { CallPorts } from "./call-ports.ts";
import { type CallResources, captureForCall } from "./call-resources.ts";
import { withCallLimits, withOneTallyUsage, withTallyUsage } from "./cost-estimate.ts";
import { leaveSubAgents, withSameAct } from "./leave-sub-agents.ts";
import { policyStatePointers, withStateForRules } from "./load-state-for-rules.ts";
import { withoutTool } from "./missing-tool-fault.ts";
import { withPins, withPreview } from "./preview-call.ts";
import { proposalOf } from "./propose.ts";
import { withStoredFacts } from "./stored-facts.ts";
import { askVerifier } from "./verify.ts";

/**
 * Stage 2. Decides whether the call may start: the guards judge it, and the ledger decides about an act. A decision that
 * changes the run is on record when `admit` returns. A grant is the right to execute one attempt.
 */
export function admit(
  context: CallContext,
  step: Step,
  proposal: Proposal,
  resources: CallResources,
): Decision | Promise<Decision> {
  return decideNow(context, step, proposal) ?? decideWithFacts(context, step, proposal, resources);
}

/** Decides at once if no fact is missing and nothing must be on record before the start; else returns null. */
function decideNow(context: CallContext, step: Step, proposal: Proposal): Decision | null {
  const { ports, mailbox } = context;
  if (!mailbox.isIdle || proposal.call !== null || !stepKinds[step.spec.kind].callsTool) return null;
  if (policyStatePointers(ports, mailbox.run, step, proposal).length > 0) return null;
  const now = ports.clock.now();
  const limited = withCallLimits(ports, mailbox.run, step, proposal, now);
  const decision = mailbox.decideNow((run) => startCommand(context, run, step, limited, { now, in_flight: null }));
  return decision?.need === null ? decision : null;
}

/** Asks for a decision, and again with each fact that the decision turns out to need. */
async function decideWithFacts(
  context: CallContext,
  step: Step,
  proposed: Proposal,
  resources: CallResources,
): Promise<Decision> {
  const { ports, mailbox } = context;
  let proposal = proposed;
  let listInFlight = !stepKinds[step.spec.kind].callsTool;
  for (;;) {
    if (proposal.call?.key != null) ports.failpoint("start.before");
    try {
      proposal = await withStateForRules(ports, mailbox.run, step, proposal);
      const now = ports.clock.now();
      const limited = withCallLimits(ports, mailbox.run, step, proposal, now);
      proposal = limited;
      const calls = context.callsStarted();
      const decision = await mailbox.ask((run) => {
        const in_flight = listInFlight ? context.inFlight(calls) : null;
        return startCommand(context, run, step, limited, { now, in_flight });
      });
      if (decision.need === null) {
        if (isOverBudget(decision)) await recordBudgetAlerts(context, proposal.limits);
        if (decision.events.some((event) => event.type === "gate.opened")) ports.failpoint("gate.after");
        return decision;
      }
      if (decision.need === "in_flight") listInFlight = true;
      else proposal = await supplyFact(context, step, proposal, decision.need, resources);
    } catch (error) {
      if (!(error instanceof ConditionFailedError)) throw error;
      proposal = await refreshProposal(context, step, proposal, error.landing);
    }
  }
}

function startCommand(
  { ports, loadedAt }: CallContext,
  run: Run,
  step: Step,
  proposal: Proposal,
  facts: Pick<CommandOf<"start">, "now" | "in_flight">,
): CommandOf<"start"> {
  const { policies, halts } = ports;
  const policy = policies.of(run);
  return {
    type: "start",
    now: facts.now,
    step_id: step.spec.step_id,
    proposal,
    policy: policy?.version ?? null,
    unruled: policy === null ? policies.rowChecks(run.tenant) : NONE,
    halts: halts.of(run),
    loaded: loadedAt,
    in_flight: facts.in_flight,
  };
}

const NONE: readonly never[] = [];

/** True if a budget refuses the call. The worker whose call crossed the budget may have died before its alert. */
function isOverBudget({ events }: Decision): boolean {
  return events.some((event) => event.type === "step.rejected" && event.rule === "budget");
}

/** Returns the proposal with the facts that made the append fail, read again. */
async function refreshProposal(
  { ports, mailbox }: CallContext,
  step: Step,
  proposal: Proposal,
  failed: ConditionFailedError["landing"],
): Promise<Proposal> {
  if (failed.why === "charge" && failed.tally !== proposal.record?.lost.tally)
    return withOneTallyUsage(proposal, failed.tally, failed.used);
  // The policies have changed, or a halt or a project lock was set or lifted.
  if (failed.why === "check" && failed.table === "setting")
    await (failed.key === policyJournal
      ? ports.policies.refresh(mailbox.run.tenant)
      : ports.halts.refresh(mailbox.run));
  // The state that a preview or a rule has read may have changed.
  if (failed.why === "check" && failed.table === "project") {
    ports.projects.markStale(mailbox.run.tenant, failed.key);
    return { ...proposal, pins: null, policy_state: null };
  }
  // The child run does not exist yet, so its end cannot be read.
  if (stepKinds[step.spec.kind].startsRun && proposal.signal === null) return proposal;
  // The ledger row or the earned trust has changed.
  return withStoredFacts(ports, mailbox.run, step, proposal);
}

async function supplyFact(
  context: CallContext,
  step: Step,
  proposal: Proposal,
  need: Exclude<MissingFact, "in_flight">,
  resources: CallResources,
): Promise<Proposal> {
  const { ports, mailbox, childRuns } = context;
  switch (need) {
    case "call":
      return proposalOf(context, step, { call: true });
    case "captures":
      await mailbox.storeResults(); // A capture names the position of the run.
      return captureForCall(context, step, proposal, resources);
    case "preview":
      return withPreview(context, step, proposal, resources);
    case "pins":
      return withPins(ports, mailbox.run, findStep(mailbox.run, step.spec.step_id) ?? step, proposal);
    case "usage":
      return withTallyUsage(ports, mailbox.run, proposal);
    case "sighting":
      return withSighting(ports, step, proposal);
    case "confirmation":
      await context.confirmActs(actsToConfirm(mailbox.run, step, context.loadedAt));
      return proposal;
    case "left_acts":
      await leaveSubAgents(mailbox.run, childRuns, (make) => mailbox.ask(() => make(ports.clock.now())));
      return proposal;
    case "same_act":
      return withSameAct(ports, mailbox.run, step, proposal);
    case "child": {
      await mailbox.storeResults(); // The child run is on record only after the results that it was given.
      // Only the worker that holds the run may start its child runs.
      if (!(await ports.leases.confirm(context.claim)))
        throw new FencedError("another worker claimed the run before it started a child run");
      const flaw = await childRuns.start(mailbox.run, step, proposal.input);
      return flaw === null ? withStoredFacts(ports, mailbox.run, step, proposal) : { ...proposal, flaw };
    }
  }
}

async function withSighting(ports: CallPorts, step: Step, proposal: Proposal): Promise<Proposal> {
  const { ledger, call } = proposal;
  assert(ledger !== null && call?.key != null, "only a recorded act is confirmed");
  const tool = ports.toolbox.pinned(step.spec.name, step.pin);
  if (tool === null) return withoutTool(ports, step, proposal);
  const { sighting } = await askVerifier(ports, tool, {
    key: downstreamKey(call.key, ledger.row.generation),
    input: call.input,
    output: ledger.receipt?.output ?? null,
    since: ledger.receipt?.at ?? (0 as Instant),
  });
  return { ...proposal, ledger: { ...ledger, sighting } };
}
