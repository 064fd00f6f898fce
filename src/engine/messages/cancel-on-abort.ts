import type { RunResult } from "../../core/run/run-result.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunHandle } from "../api/run-handle-api.ts";

/** Throws if the caller has given the submission up before it was accepted: then nothing is stored. */
export function assertNotAborted(signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  if (!(signal instanceof AbortSignal))
    throw new FaultError(fault("INVALID_INPUT", "signal must be an AbortSignal, such as that of an AbortController"));
  if (signal.aborted) throw new FaultError(fault("CANCELLED", "the signal was aborted before the plan was accepted"));
}

/** Cancels the run when the signal aborts. A caller that has received the final result no longer holds the signal. */
export function cancelOnAbort(handle: RunHandle, signal: AbortSignal | undefined): RunHandle {
  if (signal === undefined) return handle;
  const reason = "the signal of its submission was aborted";
  // The run may have ended, or the engine may be closed.
  const cancel = () => void handle.cancel({ reason }).catch(() => {});
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  const release = (result: RunResult) => {
    if (result.final) signal.removeEventListener("abort", cancel);
    return result;
  };
  const { run_id, attached } = handle;
  return {
    run_id,
    attached,
    result: async () => release(await handle.result()),
    finished: async () => release(await handle.finished()),
    now: () => handle.now(),
    events: (options) => handle.events(options),
    transcript: () => handle.transcript(),
    changes: () => handle.changes(),
    replay: () => handle.replay(),
    turns: () => handle.turns(),
    blob: (reference) => handle.blob(reference),
    cancel: (options) => handle.cancel(options),
  };
}
