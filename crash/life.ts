import type { ChildProcess } from "node:child_process";

/** How a process ended, and what it printed. */
export interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly stuck: boolean;
}

/** A kill by the clock, so long after the child has opened its store; or early, after its process was started. */
export interface Chance {
  readonly afterMs: number;
  readonly early: boolean;
}

/** What has not come to its end by then never will. */
export const stuckMs = 60_000;

/** Waits for a process to end; kills it when its chance comes, or when it hangs. */
export async function ended(child: ChildProcess, within = stuckMs, chance: Chance | null = null): Promise<Ended> {
  const printed = { stdout: "", stderr: "" };
  const timers = new Set<NodeJS.Timeout>();
  const kill = () => child.kill("SIGKILL");
  let stuck = false;
  const hang = () => {
    stuck = true;
    kill();
  };
  timers.add(setTimeout(hang, within));
  if (chance?.early === true) timers.add(setTimeout(kill, chance.afterMs));
  child.stdout?.on("data", (text) => {
    if (printed.stdout === "" && chance?.early === false) timers.add(setTimeout(kill, chance.afterMs));
    printed.stdout += text;
  });
  child.stderr?.on("data", (text) => {
    printed.stderr += text;
  });
  return new Promise((answer) => {
    child.once("close", (code, signal) => {
      for (const timer of timers) clearTimeout(timer);
      answer({ code, signal, stuck, ...printed });
    });
  });
}
