import type { Event } from "../core/event/event.ts";
import type { RunResult } from "../core/run/run-result.ts";
import type { GateView, RunHandle } from "../engine/api/engine-api.ts";
import { eventLine } from "./event-text.ts";
import { gateLines } from "./gate-text.ts";
import type { Invocation } from "./invocation.ts";
import { line } from "./safe-line.ts";
import type { Terminal } from "./terminal.ts";
import type { OpenedEngine } from "./with-engine.ts";

export interface FollowOptions {
  /** True to wait until the run has ended, false to wait until it rests. */
  readonly stay: boolean;
  /** The position after which events are printed. */
  readonly after: number;
}

/** Waits for a run that this process executes, and prints each event. */
export async function followRun(
  { host, terminal }: Invocation,
  opened: OpenedEngine,
  handle: RunHandle,
  { stay, after }: FollowOptions,
): Promise<RunResult> {
  const finished = new AbortController();
  const interrupted = new AbortController();
  const showGate = gatePrinter(terminal, opened);
  const printing = terminal.json
    ? null
    : showEvents(handle, after, finished.signal, async (event) => {
        terminal.note(eventLine(event, terminal.style));
        if (stay && event.type === "gate.opened")
          showGate(await opened.engine.gate(event.gate_id, { principal: opened.proposer }));
      });
  const removeListener = host.onInterrupt(() => {
    terminal.note(
      line`stopping once the calls in flight have ended; interrupt again to stop at once`,
      line`nothing is lost. Continue with:  ${opened.commandLine("resume", handle.run_id)}`,
    );
    interrupted.abort();
  });
  const unlessInterrupted = (pending: Promise<RunResult>): Promise<RunResult> =>
    Promise.race([pending, untilAborted(interrupted.signal).then(() => handle.now())]);
  try {
    const result = await unlessInterrupted(handle.result());
    if (!stay || interrupted.signal.aborted || !canContinue(result)) return result;
    for (const { gate_id } of result.gates) showGate(await opened.engine.gate(gate_id, { principal: opened.proposer }));
    return await unlessInterrupted(handle.finished());
  } finally {
    removeListener();
    finished.abort();
    await printing;
  }
}

/** Returns a function that prints each open gate once. */
function gatePrinter(terminal: Terminal, opened: OpenedEngine): (gate: GateView) => void {
  const shown = new Set<string>();
  return (gate) => {
    if (gate.status !== "open" || shown.has(gate.gate_id)) return;
    shown.add(gate.gate_id);
    terminal.note(...gateLines(gate, opened.commandLine, terminal.style));
  };
}

/** Returns the position of the last event of a run. */
export async function lastPosition(handle: RunHandle): Promise<number> {
  let last = 0;
  for await (const { position } of handle.events()) last = position;
  return last;
}

async function showEvents(
  handle: RunHandle,
  after: number,
  signal: AbortSignal,
  show: (event: Event) => Promise<void>,
): Promise<void> {
  try {
    for await (const { event } of handle.events({ after, follow: true, signal })) await show(event);
  } catch {
    // Printing is not essential. The caller that waits for the result gets the error.
  }
}

/** True if waiting can help. A missing tool does not arrive while this process runs. */
function canContinue({ final, blocked_on }: RunResult): boolean {
  return !final && blocked_on.some(({ reason_code }) => !reason_code.startsWith("TOOL_"));
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
