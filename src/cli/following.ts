import type { Event } from "../core/event.ts";
import type { OpenGate, RunResult } from "../core/result.ts";
import type { RunHandle } from "../engine/api.ts";
import { eventLine } from "./event-text.ts";
import type { Invocation } from "./invocation.ts";
import { line } from "./line.ts";
import type { Opened } from "./opening.ts";
import { gateLines } from "./result-text.ts";
import type { Terminal } from "./terminal.ts";

export interface Following {
  /** Until the run has ended, not only until it rests. */
  readonly stay: boolean;
  /** What was before is known already. */
  readonly after: number;
}

/** Stays with a run that is executed here and tells each change. */
export async function followed(
  { host, terminal }: Invocation,
  it: Opened,
  handle: RunHandle,
  { stay, after }: Following,
): Promise<RunResult> {
  const over = new AbortController();
  const interrupted = new AbortController();
  const showGate = gateShower(terminal, it);
  const told = terminal.json
    ? null
    : tell(handle, after, over.signal, async (event) => {
        terminal.note(eventLine(event, terminal.paint));
        if (stay && event.type === "gate.opened")
          showGate(await it.engine.gate(event.gate_id, { principal: it.proposer }));
      });
  const unheed = host.onInterrupt(() => {
    terminal.note(
      line`stopping once the calls in flight have ended; interrupt again to stop at once`,
      line`nothing is lost. Go on with:  ${it.commandLine("resume", handle.run_id)}`,
    );
    interrupted.abort();
  });
  const unlessInterrupted = (result: Promise<RunResult>): Promise<RunResult> =>
    Promise.race([result, aborted(interrupted.signal).then(() => handle.now())]);
  try {
    const rested = await unlessInterrupted(handle.result());
    if (!stay || interrupted.signal.aborted || !canMove(rested)) return rested;
    for (const gate of rested.gates) showGate({ ...gate, status: "open" });
    return await unlessInterrupted(handle.finished());
  } finally {
    unheed();
    over.abort();
    await told;
  }
}

/** Shows each gate once, whether it was there from the start or opens while we watch. */
function gateShower(terminal: Terminal, it: Opened): (gate: OpenGate & { readonly status: string }) => void {
  const shown = new Set<string>();
  return (gate) => {
    if (gate.status !== "open" || shown.has(gate.gate_id)) return;
    shown.add(gate.gate_id);
    terminal.note(...gateLines(gate, it.commandLine));
  };
}

/** How many events a run has now. */
export async function positionOf(handle: RunHandle): Promise<number> {
  let last = 0;
  for await (const { position } of handle.events()) last = position;
  return last;
}

async function tell(
  handle: RunHandle,
  after: number,
  signal: AbortSignal,
  show: (event: Event) => Promise<void>,
): Promise<void> {
  try {
    for await (const { event } of handle.events({ after, follow: true, signal })) await show(event);
  } catch {
    // Telling is not the work. Whoever waits for the result hears what went wrong.
  }
}

/** Nobody brings a missing tool into this process; for everything else it is worth staying. */
function canMove({ final, blocked_on }: RunResult): boolean {
  return !final && blocked_on.some(({ reason_code }) => !reason_code.startsWith("TOOL_"));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
