import type { Event } from "../event/event.ts";
import type { Check } from "../store/store.ts";
import type { Fault } from "../values/fault.ts";
import type { Grant } from "./command.ts";

/** The decision about one command. Absent fields are empty. */
export interface PartialDecision {
  readonly events: readonly Event[];
  /** Rows that the decision relied on and does not write. The append fails if they have changed. */
  readonly checks?: readonly Check[];
  readonly grant?: Grant;
  /** Why the command is not possible. The events, if any, only record the attempt. */
  readonly refusal?: Fault;
  /** An expensive fact that the decision needs. The engine fetches it and decides again. */
  readonly need?: MissingFact;
}

export type MissingFact =
  | "captures"
  | "preview"
  | "pins"
  | "call"
  | "usage"
  | "sighting"
  | "confirmation"
  | "child"
  | "left_acts"
  | "same_act"
  | "in_flight";

export const NO_CHANGE: PartialDecision = { events: [] };

/** A rejected step ends the plan for all steps but those in flight, so its event lists them. */
export const NEEDS_IN_FLIGHT: PartialDecision = { events: [], need: "in_flight" };
