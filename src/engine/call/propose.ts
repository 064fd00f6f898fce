import type { Proposal } from "../../core/call/proposal.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import type { Run, Step } from "../../core/run/run.ts";
import { awaitsSignal } from "../../core/run/step.ts";
import { worseEffect } from "../../core/values/effect.ts";
import type { CallContext } from "./call-context.ts";
import { awayFault } from "./caller-function.ts";
import { withHostWork } from "./host-work.ts";
import { makeProposal } from "./make-proposal.ts";
import { withStoredFacts } from "./stored-facts.ts";

/**
 * Stage 1. Makes the proposal: the call, and the facts that its decision always needs, which are the input, the key, the row of the
 * ledger or of the signal. The rules that judge it are at most one second old; on SQLite they are current.
 */
export function propose(context: CallContext, step: Step): Proposal | Promise<Proposal> {
  const { ports, mailbox } = context;
  const { run } = mailbox;
  const refreshing = ports.policies.refreshIfStale(run.tenant) ?? ports.halts.refreshIfStale(run);
  return refreshing === null && isPlain(context, step)
    ? proposalOf(context, step, { call: false })
    : proposeWithFacts(context, step, refreshing);
}

/** True for a step that does not act, has no gate and reuses no output. It needs no facts. */
function isPlain({ ports, mailbox }: CallContext, step: Step): boolean {
  const { kind, name, effect } = step.spec;
  if (!stepKinds[kind].callsTool || usesCall(mailbox.run, step)) return false;
  return worseEffect(effect, ports.toolbox.facts(name)?.effect ?? "acts") !== "acts";
}

/** True if the decision needs the digest of the input: for a gate, to reuse an output, or to find a rejected call. */
function usesCall(run: Run, { spec }: Step): boolean {
  return spec.cache_policy !== "never" || spec.gate !== "none" || isRejectedTool(run, spec.name);
}

function isRejectedTool({ forked, replanning }: Run, name: string): boolean {
  if (forked === null && replanning === null) return false;
  return [...(forked?.rejected ?? []), ...(replanning?.rejected ?? [])].some(({ tool }) => tool === name);
}

/** Makes the proposal of a step. */
export function proposalOf(context: CallContext, step: Step, wants: { readonly call: boolean }): Proposal {
  const proposal = makeProposal(context.ports, context.mailbox.run, step, wants);
  const given = context.givenWith(step);
  const away = awayFault(step, context.ports.toolbox.get(step.spec.name), given);
  const offered = given === null || given.work === null ? proposal : withHostWork(proposal, given.work);
  return away === null ? offered : { ...offered, away };
}

async function proposeWithFacts(context: CallContext, step: Step, refreshing: Promise<void> | null): Promise<Proposal> {
  const { ports, mailbox } = context;
  if (refreshing !== null) await refreshing;
  const { tenant } = mailbox.run;
  await ports.policies.refreshIfStale(tenant);
  await ports.halts.refreshIfStale(mailbox.run);
  const proposal = proposalOf(context, step, { call: usesCall(mailbox.run, step) });
  if (proposal.call === null && !awaitsSignal(step)) return proposal;
  return withStoredFacts(ports, mailbox.run, step, proposal);
}
