import type { Event } from "../../src/core/event/event.ts";
import type { Json } from "../../src/core/values/json.ts";

/** Something that the journal says about whether an act happened. */
export interface Evidence {
  readonly at: number;
  readonly what: string;
  readonly value?: Json;
}

/** Returns the evidence about an act, in the order of the journal. */
export function doubtEvidence(events: Iterable<Event>, step_id: string): readonly Evidence[] {
  const found: Evidence[] = [];
  for (const event of events) {
    if (!("step_id" in event) || event.step_id !== step_id) continue;
    const { at } = event;
    switch (event.type) {
      case "step.started":
        found.push({ at, what: `attempt ${event.attempt} started` });
        break;
      case "step.doubted": {
        const handler = event.alive ? "; its handler may still run" : "";
        const what = `the outcome of attempt ${event.attempt} is unknown: ${event.fault.message}${handler}`;
        found.push({ at, what, ...(event.heartbeat !== undefined && { value: event.heartbeat }) });
        break;
      }
      case "step.probed":
        found.push({ at, what: `the verifier saw it as ${event.saw}: ${event.why}` });
        break;
      case "evidence.kept":
        found.push({ at, what: `attempt ${event.attempt} answered too late`, value: event.evidence });
        break;
      case "step.settled":
        found.push({ at, what: `settled as ${event.settled.as.replaceAll("_", " ")} by ${event.by}: ${event.reason}` });
        break;
      default:
    }
  }
  return found;
}
