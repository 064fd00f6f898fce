import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Json } from "../../core/values/json.ts";
import { type CrashProcessOptions, callProcessFailed, runCallProcess } from "./call-process.ts";
import { crashTestStorePath, writeTask } from "./crash-task.ts";
import { type CrashVerdict, type CrashWindow, crashVerdict, type RecordedOutcome } from "./crash-window.ts";
import type { CrashTestReport } from "./run-crash-test-call.ts";

/** The result of one window: where the process was killed, the effects in the outside world, and the record. */
export interface CrashWindowResult {
  readonly window: CrashWindow;
  readonly effects: number;
  readonly record: RecordedOutcome;
  readonly verdict: CrashVerdict;
  /** False if the run could still continue by itself when the time for it was over. */
  readonly settled: boolean;
  /** Why the act did not simply succeed, or null. */
  readonly note: string | null;
  readonly run_id: string;
  /** The store with the record, kept if the verdict is not `ok`; else null. */
  readonly store: string | null;
}

/** The settings that all windows of a crash test share. */
export interface CrashWindowOptions extends CrashProcessOptions {
  readonly patienceMs: number;
  countEffects(signal: AbortSignal): Promise<number>;
}

/** Kills one call in one window, starts it again, waits until it rests, and compares the record with the effects. */
export async function runCrashWindow(
  options: CrashWindowOptions,
  window: CrashWindow,
  input: Json,
): Promise<CrashWindowResult> {
  const { signal, tool, patienceMs } = options;
  const folder = await mkdtemp(join(tmpdir(), "writ-crashtest-"));
  let keep = false;
  try {
    writeTask(folder, { tool, input, patience_ms: patienceMs });
    const before = await options.countEffects(signal);
    const first = await runCallProcess(options, { folder, kill: window });
    if (window !== "none" && !first.killed) throw windowNotReached(tool, window, first.report);
    const { report } = await runCallProcess(options, { folder, kill: "none" });
    if (report === null) throw callProcessFailed(tool, "was killed, but not by the crash test");
    const effects = (await options.countEffects(signal)) - before;
    if (effects < 0) throw countWentDown(-effects);
    const { recorded: record, settled, note, run_id } = report;
    if (window === "none" && record === "not_started") throw windowNotReached(tool, "its start", report);
    const verdict = crashVerdict(effects, record);
    keep = verdict !== "ok";
    return { window, effects, record, verdict, settled, note, run_id, store: keep ? crashTestStorePath(folder) : null };
  } catch (error) {
    if (!signal.aborted) throw error;
    const message = `interrupted at ${window}; the call may or may not have been made there`;
    throw new FaultError(fault("CANCELLED", message), { cause: error });
  } finally {
    if (!keep) await rm(folder, { recursive: true, force: true });
  }
}

function countWentDown(by: number): FaultError {
  return new FaultError(
    fault("INVALID_INPUT", `the number of effects went down by ${by}; give a counter that only goes up`),
  );
}

function windowNotReached(tool: string, point: string, report: CrashTestReport | null): FaultError {
  const why = report?.note ?? report?.recorded ?? "no report";
  return new FaultError(
    fault("NOT_POSSIBLE", `${tool} did not reach ${point}: ${why}; change the config so that the call can run`),
  );
}
