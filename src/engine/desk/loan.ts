import { assert } from "../../core/assert.ts";
import type { Ending, Grant } from "../../core/command.ts";
import { type Fault, faults } from "../../core/fault.ts";
import type { Proposal } from "../../core/proposal.ts";
import { findStep, type Step } from "../../core/run.ts";
import type { Ports } from "../ports.ts";
import type { Mailbox } from "../record/mailbox.ts";
import type { Execution } from "../road/execution.ts";
import { faultOf, thrown } from "../road/thrown.ts";
import { tagOf } from "./capture-tag.ts";
import type { Borrowed } from "./resources.ts";

/** What a call has in its hands, from when it is sure to be made. */
export interface Loan {
  borrowed: Borrowed | null;
}

/** Of a walk, what lending needs. */
export interface Lender {
  readonly ports: Ports;
  readonly mailbox: Mailbox;
}

/** It is the call's turn, and how things are is kept; or they could not be put back, and the call is refused before it is made. */
export async function withCaptures(
  { ports, mailbox }: Lender,
  step: Step,
  proposal: Proposal,
  loan: Loan,
): Promise<Proposal> {
  const tool = ports.toolbox.get(step.spec.name);
  assert(tool !== undefined, "an unknown tool is never admitted");
  const { tenant, id: run_id, position } = mailbox.run;
  const call = { step_id: step.spec.step_id, attempt: step.attempts + 1 };
  const tag = tagOf({ for: "call", tenant, run_id, at: ports.clock.now(), position, ...call });
  for (let tries = faults.RESOURCE_BUSY.tries; ; tries -= 1) {
    try {
      loan.borrowed = await ports.resources.borrow(tool, tag);
      return { ...proposal, captures: loan.borrowed.captures };
    } catch (error) {
      const why = faultOf(error);
      if (why.code !== "RESOURCE_BUSY" || tries <= 1) return { ...proposal, captures: [], flaw: why };
      // Another process is at work on it.
      await new Promise<void>((resolve) => ports.timers.after(faults.RESOURCE_BUSY.baseMs, resolve));
    }
  }
}

export function flawIn(ending: Ending): Fault | null {
  return ending.how === "value" ? ending.flaw : ending.fault;
}

/** A call that ended well has ended well only if nothing goes on behind it. */
export async function closed({ failpoint }: Ports, execution: Execution, borrowed: Borrowed): Promise<Execution> {
  if (flawIn(execution.ending) !== null) return execution;
  try {
    const closings = await borrowed.close();
    failpoint("close.after");
    return { ...execution, closings };
  } catch (error) {
    return { ...execution, ending: thrown(error) };
  }
}

/** A call that failed leaves nothing: its resources are as they were before anybody hears that it failed. */
export async function putBack(
  { ports, mailbox }: Lender,
  { step_id, attempt }: Grant,
  why: Fault | null,
  borrowed: Borrowed,
): Promise<void> {
  if (why === null || findStep(mailbox.run, step_id)?.captures.length === 0) return;
  await mailbox.ask({ type: "restoring", now: ports.clock.now(), step_id, attempt, fault: why });
  ports.failpoint("restore.before");
  const restored = await borrowed.restore();
  ports.failpoint("restore.after");
  await mailbox.ask({ type: "restored", now: ports.clock.now(), step_id, attempt, restored });
}

/** How the call ended is on record. State had the last word, and may have said no. */
export async function settleLoan(lender: Lender, grant: Grant, borrowed: Borrowed): Promise<void> {
  const standing = findStep(lender.mailbox.run, grant.step_id)?.standing;
  if (standing?.state === "succeeded") {
    lender.ports.failpoint("keep.before");
    borrowed.keep();
  } else if (standing !== undefined && "fault" in standing) {
    await putBack(lender, grant, standing.fault, borrowed);
  }
}
