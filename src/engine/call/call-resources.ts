import type { Proposal } from "../../core/call/proposal.ts";
import type { CommandOf, Grant } from "../../core/decide/command.ts";
import type { HandlerResult } from "../../core/decide/handler-result.ts";
import type { RestoreReport } from "../../core/ports/resource.ts";
import { findStep, type Step } from "../../core/run/run.ts";
import { isReversal } from "../../core/run/step.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import { type Fault, fault } from "../../core/values/fault.ts";
import { endingOfThrown, faultOfThrown } from "../ports/thrown-fault.ts";
import { makeCaptureTag } from "../resources/capture-owner.ts";
import type { CapturedResources } from "../resources/resource-registry.ts";
import type { AttemptState } from "../state/attempt-state.ts";
import type { AttemptReport } from "./attempt-report.ts";
import type { CallContext } from "./call-context.ts";
import type { CallPorts } from "./call-ports.ts";
import { withoutTool } from "./missing-tool-fault.ts";
import { toolForStep } from "./rollback-tool.ts";
import { timeLimitFor } from "./time-limit.ts";

/** The acquisitions of a call: captured resources and a draft of the state. Released when the call ends. */
export class CallResources {
  captured: CapturedResources | null = null;
  state: AttemptState | null = null;
  /** True if the handler was started. */
  called = false;

  release(): Promise<void> | null {
    this.state?.release();
    return this.captured === null ? null : this.captured.release();
  }
}

/** The part of a call context that resources need. */
type ResourceContext = Pick<CallContext, "ports" | "mailbox">;

/**
 * Waits for the resources of the tool, up to the timeout of the step, and captures them. If that fails, the proposal has
 * a fault and is refused.
 */
export async function captureForCall(
  { ports, mailbox }: ResourceContext,
  step: Step,
  proposal: Proposal,
  resources: CallResources,
): Promise<Proposal> {
  const pinned = ports.toolbox.pinned(step.spec.name, step.pin);
  if (pinned === null) return withoutTool(ports, step, proposal);
  const tool = toolForStep(ports, mailbox.run, step, pinned);
  const { tenant, id: run_id, position } = mailbox.run;
  const call = { step_id: step.spec.step_id, attempt: step.attempts + 1 };
  // The resources of the last attempt could not be restored, and a person has resumed the run.
  if (step.captures.length > 0) {
    const unrestored = await restoreLostResources({ ports, mailbox }, step);
    if (unrestored !== null) return { ...proposal, captures: [], flaw: unrestored };
  }
  const tag = makeCaptureTag({ for: "call", tenant, run_id, at: ports.clock.now(), position, ...call });
  const { timeoutMs } = timeLimitFor(mailbox.run, step, tool, ports.clock.now());
  for (let waitedMs = 0; ; waitedMs += waitTimes.resourcePollMs) {
    try {
      resources.captured = await ports.resources.capture(tool, tag);
      // The append of the start may land although its answer is lost.
      resources.captured.markOnRecord(true);
      return { ...proposal, captures: resources.captured.captures };
    } catch (error) {
      const why = faultOfThrown(error);
      const isOver =
        why.code !== "RESOURCE_BUSY" || waitedMs >= timeoutMs || (mailbox.run.cancel !== null && !isReversal(step));
      if (isOver) return { ...proposal, captures: [], flaw: why };
      // Another process uses the resource.
      await new Promise<void>((resolve) => ports.timers.after(waitTimes.resourcePollMs, resolve));
    }
  }
}

export function endingFault(ending: HandlerResult): Fault | null {
  return ending.how === "value" ? ending.flaw : ending.fault;
}

/** Closes the resources of a successful attempt. The attempt fails if a process of its tool still changes them. */
export async function closeResources(
  { failpoint }: CallPorts,
  report: AttemptReport,
  captured: CapturedResources,
): Promise<AttemptReport> {
  if (endingFault(report.ending) !== null) return report;
  try {
    const closings = await captured.close();
    failpoint("close.after");
    return { ...report, closings };
  } catch (error) {
    return { ...report, ending: endingOfThrown(error) };
  }
}

/**
 * Restores the resources of a failed attempt, on record. Does nothing if the attempt has not failed. Returns the fault
 * if the resources need a person first, else null.
 */
export async function restoreResources(
  { ports, mailbox }: ResourceContext,
  { step_id, attempt }: Grant,
  why: Fault | null,
  captured: CapturedResources,
): Promise<Fault | null> {
  if (why === null || findStep(mailbox.run, step_id)?.captures.length === 0) return null;
  return restoreOnRecord({ ports, mailbox }, { step_id, attempt, fault: why }, async () => {
    const reports = await captured.restore();
    return { reports, onRecorded: async () => captured.markOnRecord(false) };
  });
}

/**
 * Restores the resources that a lost worker left, on record. Returns the fault if they need a person first, else null.
 */
export function restoreLostResources(
  { ports, mailbox }: ResourceContext,
  { spec: { step_id }, attempts: attempt, captures }: Step,
): Promise<Fault | null> {
  return restoreOnRecord({ ports, mailbox }, { step_id, attempt, fault: null }, async () => {
    const reports = await ports.resources.restore(captures);
    return { reports, onRecorded: () => ports.resources.release(captures) };
  });
}

interface RestoredCaptures {
  readonly reports: readonly RestoreReport[];
  readonly onRecorded: () => Promise<void>;
}

async function restoreOnRecord(
  { ports, mailbox }: ResourceContext,
  attempt: Omit<CommandOf<"restoring">, "type" | "now">,
  restore: () => Promise<RestoredCaptures>,
): Promise<Fault | null> {
  await mailbox.ask(() => ({ type: "restoring", now: ports.clock.now(), ...attempt }));
  ports.failpoint("restore.before");
  const restored = await restore().catch((error) => needsPerson(error));
  if ("code" in restored) return restored;
  ports.failpoint("restore.after");
  const { step_id, attempt: number } = attempt;
  const command = { type: "restored", step_id, attempt: number, restored: restored.reports } as const;
  await mailbox.ask(() => ({ ...command, now: ports.clock.now() }));
  await restored.onRecorded();
  return null;
}

/** Returns the fault of a restore that no retry completes. Throws any other error: the restore is tried again. */
function needsPerson(error: unknown): Fault {
  const { code, message, detail } = faultOfThrown(error);
  const advice = isUnrestorable(code) ? unrestorableAdvice[code] : null;
  if (advice === null) throw error;
  return fault(code, `${message}; ${advice}`, detail);
}

const unrestorableAdvice = {
  CAPTURE_NOT_FOUND:
    "the call was cut off and its files are as it left them: put the capture store back and resume the run, or put the files in order, resolve the step as absent and resume the run",
  RESOURCE_REPLACED:
    "the files of the call are not restored: put the directory back and resume the run, or put the files in order, resolve the step as absent and resume the run",
} as const;

/** True if a restore that failed with this fault is not tried again by itself. */
export function isUnrestorable(code: string): code is keyof typeof unrestorableAdvice {
  return Object.hasOwn(unrestorableAdvice, code);
}

/** Keeps or restores the resources by the recorded end of the attempt, which can fail because of its state change. */
export async function settleResources(
  context: ResourceContext,
  grant: Grant,
  captured: CapturedResources,
): Promise<void> {
  const standing = findStep(context.mailbox.run, grant.step_id)?.standing;
  if (standing?.state === "succeeded") {
    context.ports.failpoint("keep.before");
    captured.markSucceeded();
  } else if (standing !== undefined && "fault" in standing) {
    const { ports, mailbox } = context;
    const unrestored = await restoreResources(context, grant, standing.fault, captured);
    const { step_id, attempt } = grant;
    if (unrestored !== null)
      await mailbox.ask(() => ({ type: "unrestorable", now: ports.clock.now(), step_id, attempt, fault: unrestored }));
  }
}
