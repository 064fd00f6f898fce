import { migratedEntries } from "../../core/state/migrated-entries.ts";
import { type Entries, entriesFrom, entriesToJson, type ProjectState } from "../../core/state/project-state.ts";
import { type ListDraft, type MapDraft, recordedSliceName, type Slice } from "../../core/state/slice.ts";
import type { ToolContext } from "../../core/tool/tool.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import type { SliceSnapshot, SnapshotOptions, StateSnapshot } from "../api/state-api.ts";

/** The slices of a state that are declared, as one session sees them. */
export function makeSnapshot(
  state: ProjectState,
  { slices, session }: { readonly slices: readonly Slice[]; readonly session: string },
  { version, created_at }: Pick<StateSnapshot, "version" | "created_at">,
  { includeAll = false, tag }: SnapshotOptions,
): StateSnapshot {
  const kept: Record<string, SliceSnapshot> = {};
  for (const slice of slices.filter(({ policy }) => includeAll || policy === "state")) {
    const recorded = state.get(recordedSliceName(slice, session));
    if (recorded === undefined) continue;
    const { name, policy, shape, version } = slice;
    kept[name] = { policy, version, shape, entries: entriesToJson(migrateEntries(slice, recorded)) };
  }
  return { schema_version: "1", created_at, version, tag: tag ?? null, slices: kept };
}

/** As the slice has them now; another version that it cannot read is refused. */
function migrateEntries(slice: Slice, kept: Entries): Entries {
  const current = migratedEntries(slice, kept);
  if (current.ok) return current.entries;
  throw new FaultError(current.fault);
}

/** Why something is no snapshot; null: it is one. */
export function snapshotProblem({ schema_version, slices }: JsonObject): string | null {
  if (schema_version !== "1") return `its schema_version is ${JSON.stringify(schema_version)}; this engine reads "1"`;
  if (!isJsonObject(slices)) return "it has no slices";
  const odd = Object.keys(slices).find((name) => !isSliceSnapshot(slices[name] as Json));
  return odd === undefined ? null : `its slice ${odd} has no entries of its shape`;
}

function isSliceSnapshot(slice: Json): boolean {
  if (!isJsonObject(slice)) return false;
  return slice.shape === "list" ? Array.isArray(slice.entries) : slice.shape === "map" && isJsonObject(slice.entries);
}

/** Replaces the state by a snapshot. A slice that the snapshot lacks becomes empty. Log slices do not change. */
export function loadSnapshot(slices: readonly Slice[], snapshot: StateSnapshot, context: ToolContext): Json {
  for (const name of Object.keys(snapshot.slices))
    if (!slices.some((slice) => slice.name === name))
      throw new FaultError(fault("SLICE_CHANGED", `the snapshot has a slice ${name}, which is not declared here`));
  for (const slice of slices.filter(({ policy }) => policy !== "log")) {
    const kept = Object.hasOwn(snapshot.slices, slice.name) ? snapshot.slices[slice.name] : undefined;
    const now = kept && migrateEntries(slice, entriesFrom(kept.entries, kept.version));
    const entries = slice.policy === "cache" || now === undefined ? slice.initial : entriesToJson(now);
    const draft = context.slice(slice);
    if (slice.shape === "list") (draft as ListDraft<Json>).replace(entries as readonly Json[]);
    else (draft as MapDraft<Json>).replace(entries as JsonObject);
  }
  return { slices: Object.keys(snapshot.slices).length };
}
