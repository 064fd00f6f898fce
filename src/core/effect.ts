/** What a tool does to the world, at worst. Replay, retry and gates are decided from this alone. */
export type Effect =
  | "pure" //    may be recomputed at will
  | "reads" //   asks the outside (a model, a page): recorded, never silently asked again
  | "writes" //  changes only what Writ owns
  | "acts"; //   changes the outside world; never run again on a guess

export const effects: readonly Effect[] = ["pure", "reads", "writes", "acts"];

export function worst(left: Effect, right: Effect): Effect {
  return effects.indexOf(left) >= effects.indexOf(right) ? left : right;
}

/** The tags a plan may use for an effect, each mapped to the worst it allows. */
export const effectTags: Readonly<Record<string, Effect>> = {
  pure: "pure",
  read_only: "reads",
  reads: "reads",
  produce_outcome: "writes",
  writes: "writes",
  external_send: "acts",
  acts: "acts",
};

/** What a step meant to the world, recorded beside its state. */
export type World =
  | "pure"
  | "state_changed"
  | "side_effect_committed"
  | "retryable_failure"
  | "permanent_failure"
  | "compensatable_failure"
  | "compensated"
  | "in_doubt";

/** How far a run may go by itself; the strictest of plan, tenant and policy wins. */
export type Mode = "dry_run" | "draft_only" | "human_gated" | "auto_exec";

export const modes: readonly Mode[] = ["dry_run", "draft_only", "human_gated", "auto_exec"];

export function strictest(left: Mode, right: Mode): Mode {
  return modes.indexOf(left) <= modes.indexOf(right) ? left : right;
}
