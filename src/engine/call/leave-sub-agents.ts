import type { Proposal } from "../../core/call/proposal.ts";
import type { CommandOf } from "../../core/decide/command.ts";
import { leftActKey } from "../../core/run/branch-acts.ts";
import { findStep, type Run, type Step } from "../../core/run/run.ts";
import type { Instant, RunId } from "../../core/values/ids.ts";
import type { CallPorts } from "./call-ports.ts";
import type { ChildRunPort } from "./child-run-port.ts";
import { readLedgerFact } from "./stored-facts.ts";

/** Returns the proposal with the ledger row of the act of another run that the call is, as its approvers say. */
export async function withSameAct(ports: CallPorts, run: Run, { spec }: Step, proposal: Proposal): Promise<Proposal> {
  const { gate: id = null } = findStep(run, spec.step_id) ?? {};
  const { same_as, same_in } = (id === null ? undefined : run.gates.get(id)) ?? {};
  const named = same_as !== undefined && same_in !== undefined;
  const act = named ? run.conversation?.leftActs.get(leftActKey({ run_id: same_in, step_id: same_as })) : undefined;
  return { ...proposal, same: act === undefined ? null : await readLedgerFact(ports, run, act.key) };
}

/** Cancels the sub-agents that branches have left, and records their acts in the run. */
export async function leaveSubAgents(
  run: Run,
  childRuns: Pick<ChildRunPort, "leave">,
  record: (make: (now: Instant) => CommandOf<"leave_agent">) => Promise<unknown>,
): Promise<void> {
  for (const [child, left] of run.conversation?.leftAgents ?? []) {
    const acts = await childRuns.leave(run, child as RunId, left);
    await record((now) => ({ type: "leave_agent", now, child: child as RunId, acts }));
  }
}
