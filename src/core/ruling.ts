import type { Grant } from "./command.ts";
import type { Event } from "./event.ts";
import type { Fault } from "./fault.ts";
import type { Check } from "./store.ts";

/** What a branch of the law answers. Whatever it leaves out is nothing. */
export interface Ruling {
  readonly events: readonly Event[];
  /** What the ruling relied on and did not write. */
  readonly checks?: readonly Check[];
  readonly grant?: Grant;
  /** The command was not possible. The caller is told; nothing changes but, at most, the record of the attempt. */
  readonly refusal?: Fault;
  /** A fact that was too dear to fetch before it was known to matter. Fetch it and ask again. */
  readonly need?: Need;
}

export type Need = "captures" | "preview" | "pins" | "call" | "usage" | "sighting" | "child";

export const NOTHING: Ruling = { events: [] };
