import type { Event, EventType } from "./event.ts";

/** Whether a trait applies to every event of a type, to none, or depends on the fields of the event. */
type Applies = "always" | "by_content" | "never";

/** How the engine treats an event type. Each new type needs a row in `eventTraits`; there are no defaults. */
export interface EventTraits {
  /** The append waits until the event is on disk. By content: it changes the ledger, closes captures or has notices. */
  readonly hard: Applies;
  /** The event is progress: earlier takeovers no longer count as evidence that the run kills its workers. */
  readonly progress: Applies;
  /** The decision of the event needs its own append: its conditions can fail and must not reject other decisions. */
  readonly alone: Applies;
  /** Callers can observe the event when the run is at rest, so the event is on disk by then. */
  readonly visible: boolean;
}

/** The fields that make an event hard, or make it need its own append. */
interface DecidingFields {
  readonly hard: "ledger" | "closings" | "notices";
  readonly alone: "ledger" | "state" | "signal" | "naming";
}

/** An event type with such a field cannot have the value "never". */
type AllowedApplies<Type extends EventType, Trait extends keyof DecidingFields> = keyof Extract<
  Event,
  { readonly type: Type }
> &
  DecidingFields[Trait] extends never
  ? Applies
  : Exclude<Applies, "never">;

type TraitTable = {
  readonly [Type in EventType]: EventTraits & { readonly [Trait in keyof DecidingFields]: AllowedApplies<Type, Trait> };
};

export const eventTraits: Readonly<Record<EventType, EventTraits>> = {
  "run.accepted": { hard: "always", progress: "always", alone: "never", visible: true },
  "run.refused": { hard: "always", progress: "always", alone: "always", visible: true },
  "run.simulated": { hard: "always", progress: "always", alone: "never", visible: true },
  "run.closed": { hard: "always", progress: "always", alone: "never", visible: true },
  // If the event is lost, a worker claims the run once more and releases it again.
  "run.released": { hard: "never", progress: "never", alone: "never", visible: false },
  // If the event is lost, the last answer is handed over again.
  "run.turn_finished": { hard: "never", progress: "never", alone: "never", visible: false },
  // The call that it precedes is proposed with it, and acts that it holds are recorded after it.
  "run.branched": { hard: "by_content", progress: "always", alone: "never", visible: true },
  // If the event is lost, the sub-agent is asked again before the next act.
  "run.sub_agent_left": { hard: "never", progress: "never", alone: "never", visible: true },
  // If the event is lost, the opening of the sub-agent or the notice of the run above repeats it.
  "run.acts_left_above": { hard: "never", progress: "never", alone: "never", visible: true },
  "run.replanned": { hard: "always", progress: "always", alone: "never", visible: true },
  "cancel.requested": { hard: "always", progress: "always", alone: "never", visible: true },
  "run.restored": { hard: "always", progress: "always", alone: "never", visible: true },
  // The events that it leads to are hard.
  "run.rolling_back": { hard: "always", progress: "always", alone: "never", visible: true },
  "run.resumed": { hard: "always", progress: "always", alone: "never", visible: true },
  "run.undone": { hard: "always", progress: "always", alone: "never", visible: true },
  "run.verified": { hard: "always", progress: "never", alone: "never", visible: true },
  "run.ended": { hard: "by_content", progress: "always", alone: "never", visible: true },
  "run.taken": { hard: "never", progress: "never", alone: "never", visible: true },
  // A call that is judged by the adopted rules appends after it.
  "run.rules_adopted": { hard: "never", progress: "never", alone: "never", visible: true },
  "run.parked": { hard: "by_content", progress: "never", alone: "never", visible: true },
  "run.poisoned": { hard: "by_content", progress: "never", alone: "never", visible: true },
  // A limit may refuse its charges.
  "budget.alerted": { hard: "always", progress: "never", alone: "always", visible: true },
  // If the event is lost, the notice is delivered again.
  "notice.delivered": { hard: "never", progress: "never", alone: "never", visible: false },
  "notice.withdrawn": { hard: "never", progress: "never", alone: "never", visible: true },
  "state.restored": { hard: "always", progress: "always", alone: "by_content", visible: true },

  "step.proposed": { hard: "never", progress: "always", alone: "never", visible: true },
  // The step acts, or uses up an approval.
  "step.started": { hard: "always", progress: "never", alone: "by_content", visible: true },
  "step.succeeded": { hard: "by_content", progress: "always", alone: "by_content", visible: true },
  "step.failed": { hard: "by_content", progress: "always", alone: "by_content", visible: true },
  "step.cancelled": { hard: "never", progress: "always", alone: "never", visible: true },
  "step.doubted": { hard: "always", progress: "never", alone: "always", visible: true },
  "step.probed": { hard: "never", progress: "never", alone: "never", visible: true },
  "step.settled": { hard: "by_content", progress: "by_content", alone: "by_content", visible: true },
  "step.readied": { hard: "never", progress: "never", alone: "never", visible: true },
  "step.restoring": { hard: "never", progress: "always", alone: "never", visible: true },
  "step.restored": { hard: "never", progress: "always", alone: "never", visible: true },
  "step.rejected": { hard: "never", progress: "always", alone: "never", visible: true },
  // Another append may write the expected version of the signal row first.
  "step.parked": { hard: "never", progress: "always", alone: "by_content", visible: true },
  "step.compensating": { hard: "always", progress: "always", alone: "always", visible: true },
  "step.compensated": { hard: "always", progress: "always", alone: "always", visible: true },
  "step.uncompensated": { hard: "always", progress: "always", alone: "always", visible: true },
  "step.superseded": { hard: "never", progress: "never", alone: "never", visible: true },
  // If the event is lost, the next equal call is answered with this one.
  // The parent run records its sub-agent before the sub-agent starts.
  "step.delegated": { hard: "always", progress: "never", alone: "never", visible: true },
  "step.delivered": { hard: "never", progress: "never", alone: "never", visible: true },
  "evidence.kept": { hard: "never", progress: "never", alone: "never", visible: true },

  "gate.opened": { hard: "always", progress: "always", alone: "never", visible: true },
  "gate.endorsed": { hard: "always", progress: "always", alone: "never", visible: true },
  "gate.approved": { hard: "always", progress: "always", alone: "by_content", visible: true },
  "gate.amended": { hard: "always", progress: "always", alone: "never", visible: true },
  "gate.escalated": { hard: "by_content", progress: "never", alone: "never", visible: true },
  "gate.rejected": { hard: "always", progress: "always", alone: "never", visible: true },
  "gate.expired": { hard: "always", progress: "always", alone: "never", visible: true },
  "gate.closed": { hard: "always", progress: "always", alone: "never", visible: true },
  // A limit may refuse its charges.
  "gate.contested": { hard: "always", progress: "never", alone: "always", visible: true },
} satisfies TraitTable;
