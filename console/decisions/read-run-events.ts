import type { Event } from "../../src/core/event/event.ts";
import type { RecordedEvent } from "../../src/engine/api/engine-api.ts";
import { callRoute } from "../api/call-route.ts";

/** Returns the title of a run from its first event, or null if it has none. */
export function runTitle([first]: readonly Event[]): string | null {
  return first?.type === "run.accepted" ? (first.title ?? null) : null;
}

/** A page has a thousand events. A longer journal is shown by the page of the run. */
const pagesMax = 10;

/** Reads the events of a run from its first one. */
export async function readRunEvents(run_id: string): Promise<readonly RecordedEvent[]> {
  const all: RecordedEvent[] = [];
  let after = 0;
  for (let page = 0; page < pagesMax; page += 1) {
    const { events, next } = await callRoute("run.events", { run_id, after });
    all.push(...events);
    if (next === null) break;
    after = next;
  }
  return all;
}
