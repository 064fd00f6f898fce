import { migratedEntries } from "../../core/state/migrated-entries.ts";
import { type Entries, entriesFrom, entriesToJson, type ProjectState } from "../../core/state/project-state.ts";
import {
  type ListDraft,
  type MapDraft,
  recordedSliceName,
  type Slice,
  type SlicePolicy,
} from "../../core/state/slice.ts";
import type { SliceSnapshot, Snapshot, SnapshotContents } from "../../core/state/snapshot.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { isName } from "../../core/values/is-name.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import { requestLimits } from "../api/request-limits.ts";
import { digestOfEntries } from "./entries-digest.ts";

/** Which slices a snapshot contains, and whether it contains their entries. */
interface SliceSelection {
  readonly slices: readonly Slice[];
  readonly session: string;
  readonly policies: readonly SlicePolicy[];
  readonly withEntries: boolean;
}

/** Returns the declared slices of a state, as one session sees them. Without entries, it costs what has changed. */
export function snapshotSlices(
  state: ProjectState,
  { slices, session, policies, withEntries }: SliceSelection,
): Readonly<Record<string, SliceSnapshot>> {
  const chosen = slices.filter(({ policy }) => policies.includes(policy));
  return Object.fromEntries(
    chosen.map((slice) => {
      const stored = state.get(recordedSliceName(slice, session));
      const entries = stored === undefined ? entriesFrom(slice.initial, slice.version) : currentEntries(slice, stored);
      return [slice.name, snapshotSlice(slice, entries, withEntries)];
    }),
  );
}

function snapshotSlice({ policy, version, shape }: Slice, entries: Entries, withEntries: boolean): SliceSnapshot {
  const size = entries.shape === "list" ? entries.items.length : entries.items.size;
  const named = { policy, version, shape, size, digest: digestOfEntries(entries) };
  return withEntries ? { ...named, entries: entriesToJson(entries) } : named;
}

/** Returns a slice as a call sees it. */
export function snapshotDraft(slice: Slice, draft: ListDraft<Json> | MapDraft<Json>): SliceSnapshot {
  return snapshotSlice(slice, entriesFrom(draftEntries(slice, draft), slice.version), true);
}

export function draftEntries({ shape }: Slice, draft: ListDraft<Json> | MapDraft<Json>): readonly Json[] | JsonObject {
  return shape === "list" ? (draft as ListDraft<Json>).all() : Object.fromEntries((draft as MapDraft<Json>).all());
}

/** Returns the entries in the version that the slice has now. Throws if they cannot be migrated. */
export function currentEntries(slice: Slice, stored: Entries): Entries {
  const current = migratedEntries(slice, stored);
  if (current.ok) return current.entries;
  throw new FaultError(current.fault);
}

export const allPolicies: readonly SlicePolicy[] = ["state", "log", "cache"];

/** Reads the selection of a snapshot. Throws INVALID_INPUT. */
export function readSnapshotContents({ policies = ["state"], tags = {} }: SnapshotContents): {
  readonly policies: readonly SlicePolicy[];
  readonly tags: Snapshot["tags"];
} {
  if (!Array.isArray(policies) || !policies.every((policy) => allPolicies.includes(policy)))
    throw invalid(`policies must be a list of ${allPolicies.join(", ")}`);
  const problem = tagsProblem(tags);
  if (problem !== null) throw invalid(problem);
  return { policies: [...policies], tags: { ...tags } };
}

/** Returns what is wrong with the tags of a snapshot, or null. */
export function tagsProblem(tags: unknown): string | null {
  const { labels: most } = requestLimits;
  const isMap = typeof tags === "object" && tags !== null && !Array.isArray(tags);
  const pairs = isMap ? Object.entries(tags) : [];
  if (isMap && pairs.length <= most && pairs.every((pair) => pair.every(isName))) return null;
  return `tags must be at most ${most} names with texts, each of 1 to 200 printable characters`;
}

function invalid(message: string): FaultError {
  return new FaultError(fault("INVALID_INPUT", message));
}
