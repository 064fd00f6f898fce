import { CALL_WITHIN_MS } from "../../core/run/step.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { toolGuaranteeText } from "../../core/tool/tool-guarantee-text.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Json } from "../../core/values/json.ts";
import type { CrashTestCall } from "./call-process.ts";
import { type CrashWindow, crashWindows } from "./crash-window.ts";
import { type CrashWindowResult, runCrashWindow } from "./run-crash-window.ts";

export interface CrashTestOptions {
  /** The tool that is really called. Its effect must be `acts`. */
  readonly tool: Tool;
  /** Returns the input of one call. Every window makes a call of its own. */
  newInput(): Json;
  /** Returns the number of effects in the outside world so far. */
  countEffects(signal: AbortSignal): Promise<number>;
  /**
   * Returns the program and the arguments of a process that passes `folder` and `kill` to `runCrashTestCall` and prints
   * the report, or `{ fault }`, as JSON in the last line of stdout.
   */
  command(call: CrashTestCall): readonly string[];
  /** The working directory of the processes. Default: that of this process. */
  readonly cwd?: string;
  /** The environment of the processes. Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The time that an act may take to come to rest. Default: derived from the tool's timeouts, at most ten minutes. */
  readonly patienceMs?: number;
  readonly signal?: AbortSignal;
  /** Called before each window. */
  onWindow?(window: CrashWindow, state: string): void;
  /** Receives the stderr of the processes. */
  onStderr?(chunk: string): void;
}

const patienceMsMax = 600_000;
const marginMs = 10_000;

/**
 * Calls a tool that acts in a process of its own, kills the process (SIGKILL) once at each point between two facts, lets
 * a new process continue the run, and compares the record with the number of effects. Returns one result per window.
 */
export async function runCrashTest(options: CrashTestOptions): Promise<readonly CrashWindowResult[]> {
  const { tool, signal = new AbortController().signal, cwd = process.cwd(), env = process.env } = options;
  if (tool.effect !== "acts") throw notAnAct(tool);
  // The latest call of the dead worker, the quiet time after it, and the call of the verifier.
  const declaredMs = CALL_WITHIN_MS + 2 * tool.timeoutMs + tool.settleAfterMs + marginMs;
  const patienceMs = options.patienceMs ?? Math.min(declaredMs, patienceMsMax);
  const windows = Object.entries(crashWindows) as [CrashWindow, string][];
  const calls = windows.map(([window, state]) => ({ window, state, input: options.newInput() }));
  const results: CrashWindowResult[] = [];
  for (const { window, state, input } of calls) {
    options.onWindow?.(window, state);
    const shared = {
      ...{ tool: tool.name, cwd, env, signal, patienceMs, stuckMs: patienceMs + tool.timeoutMs + marginMs },
      command: (call: CrashTestCall) => options.command(call),
      countEffects: (aborted: AbortSignal) => options.countEffects(aborted),
      onStderr: (chunk: string) => options.onStderr?.(chunk),
    };
    results.push(await runCrashWindow(shared, window, input));
  }
  return results;
}

function notAnAct(tool: Tool): FaultError {
  return new FaultError(
    fault(
      "INVALID_INPUT",
      `${tool.name} has the effect ${tool.effect} (${toolGuaranteeText(tool)}), and only acts leave effects to count; if it changes the outside world, declare effect: "acts"`,
    ),
  );
}
