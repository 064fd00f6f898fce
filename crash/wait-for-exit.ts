import type { ChildProcess } from "node:child_process";

/** How a process ended, and what it printed. */
export interface ProcessExit {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly stuck: boolean;
}

/** A kill at a time after the child has opened its store, or, if early, after its process was started. */
export interface TimedKill {
  readonly afterMs: number;
  readonly early: boolean;
}

/** A process that runs longer hangs. */
export const STUCK_AFTER_MS = 60_000;

/** Waits for a process to end. Kills it at the time of its kill, or when it hangs. */
export async function waitForExit(
  child: ChildProcess,
  stuckMs = STUCK_AFTER_MS,
  timedKill: TimedKill | null = null,
): Promise<ProcessExit> {
  const printed = { stdout: "", stderr: "" };
  const timers = new Set<NodeJS.Timeout>();
  const kill = () => child.kill("SIGKILL");
  let stuck = false;
  const onHang = () => {
    stuck = true;
    kill();
  };
  timers.add(setTimeout(onHang, stuckMs));
  if (timedKill?.early === true) timers.add(setTimeout(kill, timedKill.afterMs));
  child.stdout?.on("data", (text) => {
    if (printed.stdout === "" && timedKill?.early === false) timers.add(setTimeout(kill, timedKill.afterMs));
    printed.stdout += text;
  });
  child.stderr?.on("data", (text) => {
    printed.stderr += text;
  });
  return new Promise((resolve) => {
    child.once("close", (code, signal) => {
      for (const timer of timers) clearTimeout(timer);
      resolve({ code, signal, stuck, ...printed });
    });
  });
}
