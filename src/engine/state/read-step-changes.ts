import type { Event } from "../../core/event/event.ts";
import { TrieMap } from "../../core/persistent/trie-map.ts";
import { applyPatch, type ProjectState } from "../../core/state/project-state.ts";
import type { StateChange } from "../../core/state/state-change.ts";
import { diffStates } from "../../core/state/state-difference.ts";
import type { Store } from "../../core/store/store.ts";
import type { RunId, StepId, Tenant } from "../../core/values/ids.ts";
import type { RecordedEvent } from "../api/run-handle-api.ts";
import type { StepChange } from "../api/state-api.ts";
import { readStateHistory, StateHistoryReader } from "./state-history.ts";

interface OwnChange {
  readonly position: number;
  readonly step_id: StepId;
  readonly event: Event;
  readonly state: StateChange;
}

/** Reads the values that each call of a run changed in the state, before and after it, in the order of the versions. */
export async function readStepChanges(
  store: Store,
  tenant: Tenant,
  run_id: RunId,
  events: Iterable<Pick<RecordedEvent, "event" | "position">>,
): Promise<readonly StepChange[]> {
  const own = [...ownChanges(events)].sort((one, other) => one.state.version - other.state.version);
  const [first, last] = [own[0], own.at(-1)];
  if (first === undefined || last === undefined) return [];
  const from = { run_id, position: last.position, commit: last.state.commit };
  const { whole, versions } = await readStateHistory(new StateHistoryReader(store, tenant, from), {
    isKnown: () => false,
    isFarEnough: ({ project, version }) => project !== first.state.project || version < first.state.version,
    isWanted: () => true,
  });
  const byCommit = new Map(own.map((change) => [change.state.commit, change]));
  const changes: StepChange[] = [];
  let before: ProjectState = whole?.state ?? TrieMap.empty();
  for (const { point, patch } of versions) {
    const after = applyPatch(before, patch);
    const change = byCommit.get(point.commit);
    if (change !== undefined) changes.push(toStepChange(change, before, after));
    before = after;
  }
  return changes;
}

function* ownChanges(events: Iterable<Pick<RecordedEvent, "event" | "position">>): Iterable<OwnChange> {
  for (const { event, position } of events)
    if ("step_id" in event && "state" in event && event.state !== undefined)
      yield { position, step_id: event.step_id, event, state: event.state };
}

function toStepChange({ step_id, event, state }: OwnChange, before: ProjectState, after: ProjectState): StepChange {
  return {
    step_id,
    attempt: "attempt" in event ? event.attempt : null,
    at: event.at,
    version: state.version,
    succeeded: event.type === "step.succeeded",
    changes: diffStates(before, after, [state.patch]),
  };
}
