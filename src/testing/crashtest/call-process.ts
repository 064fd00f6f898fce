import { type ChildProcess, spawn } from "node:child_process";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { CrashWindow } from "./crash-window.ts";
import type { CrashTestReport } from "./run-crash-test-call.ts";

/** The part of a crash test that a process passes on to `runCrashTestCall`. */
export interface CrashTestCall {
  readonly folder: string;
  readonly kill: CrashWindow;
}

export interface CrashProcessOptions {
  /** The name of the tool. */
  readonly tool: string;
  command(call: CrashTestCall): readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** The time after which a process is taken to hang and is killed. */
  readonly stuckMs: number;
  onStderr(chunk: string): void;
}

interface CallProcessExit {
  /** True if the process died by SIGKILL, as it does in its window. */
  readonly killed: boolean;
  readonly report: CrashTestReport | null;
}

/** Runs one process that makes the call, until it ends or is killed. */
export async function runCallProcess(options: CrashProcessOptions, call: CrashTestCall): Promise<CallProcessExit> {
  const { cwd, env, signal, stuckMs, tool } = options;
  const [program = process.execPath, ...args] = options.command(call);
  const child = spawn(program, args, { cwd, env, signal, killSignal: "SIGKILL", stdio: ["ignore", "pipe", "pipe"] });
  const output = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    output.out = `${output.out}${String(chunk)}`.slice(-outputMax);
  });
  child.stderr.on("data", (chunk) => {
    output.err = `${output.err}${String(chunk)}`.slice(-outputMax);
    options.onStderr(String(chunk));
  });
  const { how, stuck } = await waitForExit(child, stuckMs);
  if (stuck) throw callProcessFailed(tool, `hung for ${stuckMs} ms`);
  if (how === "SIGKILL") return { killed: true, report: null };
  return { killed: false, report: parseReport(output, tool, `ended by itself with ${how}`) };
}

/** Enough for a report, and for the end of the output of a process that failed. */
const outputMax = 64 * 1024;

async function waitForExit(
  child: ChildProcess,
  stuckMs: number,
): Promise<{ readonly how: string; readonly stuck: boolean }> {
  let stuck = false;
  const timer = setTimeout(() => {
    stuck = child.kill("SIGKILL");
  }, stuckMs);
  try {
    return await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve({ how: signal ?? `exit code ${code}`, stuck }));
    });
  } finally {
    clearTimeout(timer);
  }
}

function parseReport(
  { out, err }: { readonly out: string; readonly err: string },
  tool: string,
  how: string,
): CrashTestReport {
  const last = out.trimEnd().split("\n").at(-1) ?? "";
  let document: CrashTestReport | { readonly fault: Fault };
  try {
    document = JSON.parse(last) as CrashTestReport | { readonly fault: Fault };
  } catch (cause) {
    throw callProcessFailed(tool, `${how}: ${err.trimEnd().split("\n").at(-1) || "no output on stderr"}`, cause);
  }
  if ("fault" in document) throw new FaultError(document.fault);
  return document;
}

export function callProcessFailed(tool: string, how: string, cause?: unknown): FaultError {
  const message = `the process that ran ${tool} ${how}; to see its output, use --debug (writ crashtest) or onStderr`;
  return new FaultError(fault("TOOL_FAILED", message), { cause });
}
