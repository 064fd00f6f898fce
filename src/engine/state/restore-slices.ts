import { entriesFrom, entriesToJson } from "../../core/state/project-state.ts";
import type { ListDraft, MapDraft, Slice } from "../../core/state/slice.ts";
import { replaceLog } from "../../core/state/slice-draft.ts";
import type { SliceSnapshot, Snapshot } from "../../core/state/snapshot.ts";
import type { ToolContext } from "../../core/tool/tool.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import type { StateSnapshot } from "../api/state-api.ts";
import { digestOfEntries } from "./entries-digest.ts";
import { currentEntries, draftEntries } from "./slice-snapshots.ts";

/** Returns why something is no snapshot with entries, or null. Version 1 had only slices. */
export function snapshotProblem({ schema_version, snapshot_id, slices, resources }: JsonObject): string | null {
  if (schema_version !== "1" && schema_version !== "2")
    return `its schema_version is ${JSON.stringify(schema_version)}; this engine reads "1" and "2"`;
  if (!isJsonObject(slices)) return "it has no slices";
  if (schema_version === "2" && !isJsonObject(resources)) return "it has no resources";
  const named = Object.keys(slices).find((name) => isNamedOnly(slices[name]));
  if (named !== undefined)
    return `its slice ${named} has no entries; restore ${String(snapshot_id)} in its own store, or take it with contents`;
  const odd = Object.keys(slices).find((name) => !isSliceSnapshot(slices[name] as Json));
  return odd === undefined ? null : `its slice ${odd} has no entries of its shape`;
}

function isNamedOnly(slice: Json | undefined): boolean {
  return isJsonObject(slice) && slice.entries === undefined && typeof slice.digest === "string";
}

function isSliceSnapshot(slice: Json): boolean {
  if (!isJsonObject(slice)) return false;
  return slice.shape === "list" ? Array.isArray(slice.entries) : slice.shape === "map" && isJsonObject(slice.entries);
}

/** Changes the state to that of a snapshot. A slice that the snapshot lacks becomes empty; a log only if asked for. */
export function restoreSlices(
  slices: readonly Slice[],
  snapshot: Snapshot | StateSnapshot,
  context: Pick<ToolContext, "slice">,
  preserveLogs = true,
): Json {
  for (const name of Object.keys(snapshot.slices)) assertLoadable(slices, name, snapshot.slices[name] as SliceSnapshot);
  for (const slice of slices) {
    const kept = Object.hasOwn(snapshot.slices, slice.name) ? snapshot.slices[slice.name] : undefined;
    // A snapshot without the log says nothing about it.
    if (slice.policy === "log" && (preserveLogs || kept === undefined)) continue;
    loadSlice(slice, kept as SliceSnapshot | undefined, context);
  }
  return { slices: Object.keys(snapshot.slices).length };
}

function assertLoadable(
  slices: readonly Slice[],
  name: string,
  { shape, version, entries, digest }: SliceSnapshot,
): void {
  const slice = slices.find((known) => known.name === name);
  if (slice === undefined) throw changed(`the snapshot has a slice ${name}, which is not declared here`);
  if (slice.shape !== shape) throw changed(`${name} is a ${slice.shape} here, and a ${shape} in the snapshot`);
  if (digest === undefined || entries === undefined || digestOfEntries(entriesFrom(entries, version)) === digest)
    return;
  const message = `the entries of ${name} differ from their digest in the snapshot, which was changed after it was taken`;
  throw new FaultError(fault("STATE_INVALID", message));
}

function loadSlice(slice: Slice, kept: SliceSnapshot | undefined, context: Pick<ToolContext, "slice">): void {
  const stored =
    kept?.entries === undefined || slice.policy === "cache"
      ? entriesFrom(slice.initial, slice.version)
      : currentEntries(slice, entriesFrom(kept.entries, kept.version));
  const entries = entriesToJson(stored);
  const draft = context.slice(slice) as ListDraft<Json> | MapDraft<Json>;
  const now = draftEntries(slice, draft);
  // An equal slice is no change, so that another call may change it meanwhile.
  if (digestOfEntries(entriesFrom(now, slice.version)) === digestOfEntries(stored)) return;
  if (slice.policy === "log") replaceLog(draft as ListDraft<Json>, entries as readonly Json[]);
  else if (slice.shape === "list") (draft as ListDraft<Json>).replace(entries as readonly Json[]);
  else (draft as MapDraft<Json>).replace(entries as JsonObject);
}

function changed(message: string): FaultError {
  return new FaultError(fault("SLICE_CHANGED", message));
}
