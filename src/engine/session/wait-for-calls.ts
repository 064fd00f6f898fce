import { type CallAnswer, callAnswer } from "../../core/run/call-answer.ts";
import { getStep, type Step } from "../../core/run/run.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { StepId } from "../../core/values/ids.ts";
import type { LeasedRun } from "../worker/leased-run.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

interface WaitOptions {
  readonly signal?: AbortSignal;
  readonly waitMs?: number;
  /** True while the start of a call is on record and its host is not told to begin yet. Null: no host begins one. */
  readonly isBeginning?: (() => boolean) | null;
}

/** Waits until every call rests and, if the caller wants that, until people have decided. An abort ends the wait. */
export async function waitForCalls(
  ports: WorkerPorts,
  leased: LeasedRun,
  ids: readonly StepId[],
  { signal, waitMs = 0, isBeginning = null }: WaitOptions,
): Promise<void> {
  const until = ports.clock.now() + waitMs;
  const stop = signal === undefined ? null : abortion(signal);
  const abort = () => {
    const why = fault("CANCELLED", "the caller stopped waiting for the call");
    for (const id of ids) leased.stopCall(id, why);
  };
  if (signal?.aborted) abort(); // A handler may have run before the wait began.
  signal?.addEventListener("abort", abort, { once: true });
  const woken = new Set<StepId>();
  try {
    for (;;) {
      await race(leased.calls.rest(leased.run, ids), stop);
      const answers = ids.map((step_id): CallAnswer | null => callAnswer(leased.run, getStep(leased.run, { step_id })));
      const left = until - ports.clock.now();
      if (answers.includes(null)) continue;
      const away = ids.filter((step_id) => !woken.has(step_id) && isAway(leased, getStep(leased.run, { step_id })));
      for (const step_id of away) await wake(ports, leased, step_id, woken);
      if (away.length > 0) continue;
      if (isBeginning?.()) {
        await race(leased.calls.changed(), stop);
        continue;
      }
      if (left <= 0 || !answers.some((answer) => answer?.status === "held")) return;
      await changedOrLate(ports, leased, left, stop);
      if (leased.isReleased) throw new FaultError(fault("SESSION_BUSY", "this process no longer holds the run"));
    }
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** Continues a call that waits for the function of its caller, once: another process may not have its tool. */
async function wake(ports: WorkerPorts, leased: LeasedRun, step_id: StepId, woken: Set<StepId>): Promise<void> {
  woken.add(step_id);
  await leased.mailbox.ask(() => ({ type: "wake", now: ports.clock.now(), step_id }));
}

/**
 * True if the call waits for a function that its caller has given: a worker that recovers the run parks such a call,
 * perhaps after its caller has proposed it again.
 */
function isAway({ calls }: LeasedRun, step: Step): boolean {
  const { standing } = step;
  if (standing.state !== "waiting" || standing.on.for !== "tool" || standing.on.fault.code !== "TOOL_AWAY")
    return false;
  const given = calls.givenWith(step);
  return given !== null && (given.run !== null || given.work !== null);
}

/** Waits for a change of the calls, for this long at most. The timer ends with the wait: it keeps a process alive. */
async function changedOrLate(
  { timers }: WorkerPorts,
  { calls }: LeasedRun,
  ms: number,
  stop: Promise<never> | null,
): Promise<void> {
  let cancel = () => {};
  const late = new Promise<void>((resolve) => {
    cancel = timers.after(ms, resolve);
  });
  try {
    await race(Promise.race([calls.changed(), late]), stop);
  } finally {
    cancel();
  }
}

/** Rejects with the reason of the signal when it aborts. */
function abortion(signal: AbortSignal): Promise<never> {
  const aborted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => {});
  return aborted;
}

function race<Result>(work: Promise<Result>, stop: Promise<never> | null): Promise<Result> {
  return stop === null ? work : Promise.race([work, stop]);
}
