import type { Event } from "../../core/event/event.ts";
import type { Store } from "../../core/store/store.ts";
import type { RunId, StepId, Tenant } from "../../core/values/ids.ts";
import { loadEventAt } from "./load-run.ts";

export type AcceptedEvent = Extract<Event, { type: "run.accepted" }>;

/** Reads the first event of runs, each once. */
export class RunAcceptedEvents {
  readonly #store: Store;
  readonly #tenant: Tenant;
  readonly #known = new Map<RunId, AcceptedEvent | null>();

  constructor(store: Store, tenant: Tenant) {
    this.#store = store;
    this.#tenant = tenant;
  }

  /** Null: retention has erased the event. */
  async read(run: RunId): Promise<AcceptedEvent | null> {
    const known = this.#known.get(run);
    if (known !== undefined) return known;
    const event = await loadEventAt(this.#store, this.#tenant, run, 1);
    const found = event?.type === "run.accepted" ? event : null;
    this.#known.set(run, found);
    return found;
  }
}

/** Returns the tool of a step, or null if neither the plan nor a fallback plan contains the step. */
export function plannedTool(accepted: AcceptedEvent | null, step_id: StepId | null): string | null {
  const plans = [accepted?.plan, ...(accepted?.fallbacks ?? [])];
  for (const plan of plans) {
    const found = plan?.steps.find((step) => step.step_id === step_id);
    if (found !== undefined) return found.name;
  }
  return null;
}
