import type { RunId } from "./ids.ts";

/** A change that may be the execution of a held request. A request is executed once. */
export interface HeldIn {
  /** The run that held the request and records who approved it. Absent if the change was not held. */
  readonly held_in?: RunId;
}
