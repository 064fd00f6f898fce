import type { AppendResult, Entry } from "../../core/store/store.ts";
import { appendOnce } from "./append-once.ts";
import type { JournalPorts } from "./journal-ports.ts";

/** Appends an entry of a run exactly once, and tells the observers how long that took. */
export function appendTimed(ports: JournalPorts, entry: Entry): Promise<AppendResult> {
  return ports.observers.isEmpty ? appendOnce(ports, entry) : appendAndTell(ports, entry);
}

async function appendAndTell(ports: JournalPorts, entry: Entry): Promise<AppendResult> {
  const from = ports.stopwatch();
  const landing = await appendOnce(ports, entry);
  const { tenant, run, events } = entry;
  const append = { tenant, run_id: run, events: events.length, ms: ports.stopwatch() - from };
  if (landing.landed) ports.observers.onTimedAppend(append);
  return landing;
}
