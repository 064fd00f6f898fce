import type { Event } from "../../core/event.ts";
import type { Capture } from "../../core/resource.ts";
import type { Store } from "../../core/store.ts";
import { Journal } from "../record/journal.ts";
import { pages } from "../record/load.ts";
import { type Owner, ownerOf, type Standing } from "./capture-tag.ts";

/** What the record says of that which something was captured for. */
export async function standingOf(store: Store, capture: Capture): Promise<Standing> {
  const owner = ownerOf(capture);
  if (owner === null) return "unknown";
  const { tenant, run_id } = owner;
  const journal = new Journal(tenant, run_id);
  let standing: Standing = "unknown";
  let erased = false;
  for await (const page of pages(store, tenant, run_id)) {
    if (standing === "unknown") standing = "falls";
    for (const stored of page) {
      if (!telling.has(stored.type)) continue;
      if (stored.body === null) {
        erased = true;
        continue;
      }
      standing = saidBy(await journal.open<Event>(stored, store), owner, capture) ?? standing;
    }
  }
  const isForked = owner.for === "fork" && (await store.events(tenant, owner.into, 0, 1)).length > 0;
  if (isForked) return "stands";
  // What is not on record any more may have said that it stands.
  return standing === "falls" && erased ? "unknown" : standing;
}

const telling: ReadonlySet<string> = new Set<Event["type"]>([
  "step.started",
  "step.succeeded",
  "step.restored",
  "state.restored",
]);

function saidBy(event: Event, owner: Owner, { id }: Capture): Standing | null {
  if (event.type === "step.started") return event.captures?.some((each) => each.id === id) ? "owed" : null;
  if (event.type === "state.restored") return event.captures?.some((each) => each.id === id) ? "stands" : null;
  if (event.type !== "step.succeeded" && event.type !== "step.restored") return null;
  if (owner.for !== "call" || event.step_id !== owner.step_id || event.attempt !== owner.attempt) return null;
  return event.type === "step.succeeded" ? "stands" : "falls";
}
