import type { Event } from "../../core/event/event.ts";
import type { Capture } from "../../core/ports/resource.ts";
import type { Store } from "../../core/store/store.ts";
import { JournalCodec } from "../journal/journal-codec.ts";
import { readEventPages } from "../journal/load-run.ts";
import { type CaptureOwner, type CaptureStatus, readCaptureTag } from "./capture-owner.ts";

/** Reads from the journal of its owner whether the changes after a capture are committed. */
export async function readCaptureStatus(store: Store, capture: Capture): Promise<CaptureStatus> {
  const owner = readCaptureTag(capture);
  if (owner === null) return "unknown";
  const { tenant, run_id } = owner;
  const journal = new JournalCodec(tenant, run_id);
  let status: CaptureStatus = "unknown";
  let erased = false;
  for await (const page of readEventPages(store, tenant, run_id)) {
    if (status === "unknown") status = "discarded";
    for (const stored of page) {
      if (!statusEventTypes.has(stored.type)) continue;
      if (stored.body === null) {
        erased = true;
        continue;
      }
      status = statusFromEvent(await journal.open<Event>(stored, store), owner, capture) ?? status;
    }
  }
  const isForked = owner.for === "fork" && (await store.events(tenant, owner.into, 0, 1)).length > 0;
  if (isForked) return "committed";
  // An erased event may have committed it.
  return status === "discarded" && erased ? "unknown" : status;
}

const statusEventTypes: ReadonlySet<string> = new Set<Event["type"]>([
  "step.started",
  "step.succeeded",
  "step.restored",
  "state.restored",
]);

function statusFromEvent(event: Event, owner: CaptureOwner, { id }: Capture): CaptureStatus | null {
  if (event.type === "step.started") return event.captures?.some((each) => each.id === id) ? "restore_pending" : null;
  if (event.type === "state.restored") return event.captures?.some((each) => each.id === id) ? "committed" : null;
  if (event.type !== "step.succeeded" && event.type !== "step.restored") return null;
  if (owner.for !== "call" || event.step_id !== owner.step_id || event.attempt !== owner.attempt) return null;
  return event.type === "step.succeeded" ? "committed" : "discarded";
}
