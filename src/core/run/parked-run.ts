import type { BackupRestore } from "../event/backup-restore.ts";
import type { Event } from "../event/event.ts";
import { eventTraits } from "../event/event-traits.ts";
import type { RulesChange } from "../event/run-rules.ts";
import type { Instant } from "../values/ids.ts";

/** Why a run is parked: no step starts until a person resumes it. */
export type Parked =
  /** Several workers in a row lost the run. It may kill them. */
  | { readonly for: "takeovers"; readonly since: Instant }
  /** Its rules are pinned, and no live worker had them. `to` are the rules of the worker that found that. */
  | ({ readonly for: "rules"; readonly since: Instant } & RulesChange)
  /** It was in a backup that was restored. */
  | ({ readonly for: "restore"; readonly since: Instant } & BackupRestore);

/** True if the event is progress of the run: takeovers before it no longer count as evidence against the run. */
export function isProgress(event: Event): boolean {
  if (event.type === "step.settled") return event.settled.as === "happened" || event.settled.as === "given_up";
  return eventTraits[event.type].progress === "always";
}
