/** The worst thing a tool can do to the world. Replay, retry and gates depend on nothing else of the tool. */
export type Effect =
  | "pure" //    may be recomputed at will
  | "reads" //   asks the outside (a model, a page): recorded, never silently asked again
  | "writes" //  changes only what Writ owns
  | "acts"; //   changes the outside world; never run again on a guess

export const effects: readonly Effect[] = ["pure", "reads", "writes", "acts"];

export function worseEffect(left: Effect, right: Effect): Effect {
  return effects.indexOf(left) >= effects.indexOf(right) ? left : right;
}

/** The tags a plan may use for an effect, each mapped to the worst effect it allows. */
export const effectTags: Readonly<Record<string, Effect>> = {
  pure: "pure",
  read_only: "reads",
  reads: "reads",
  produce_outcome: "writes",
  writes: "writes",
  external_send: "acts",
  acts: "acts",
};

/** The consequence of a step for the outside world, recorded beside the state of the step. */
export type WorldOutcome =
  | "pure"
  | "state_changed"
  | "side_effect_committed"
  | "retryable_failure"
  | "permanent_failure"
  | "compensatable_failure"
  | "compensated"
  | "in_doubt";

/** How far a run may go without a person; the strictest mode of plan, tenant and policy applies. */
export type Mode = "dry_run" | "draft_only" | "human_gated" | "auto_exec";

export const modes: readonly Mode[] = ["dry_run", "draft_only", "human_gated", "auto_exec"];

export function stricterMode(left: Mode, right: Mode): Mode {
  return modes.indexOf(left) <= modes.indexOf(right) ? left : right;
}
