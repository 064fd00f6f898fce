import type { Digest, Instant, RunId, StepId } from "../values/ids.ts";
import { type Json, type JsonObject, sameJson } from "../values/json.ts";
import type { SlicePolicy, SliceShape } from "./slice.ts";

/** before, after: of a call. within: taken by a tool during its call. manual: taken by `checkpoints.take`. */
export type SnapshotPhase = "before" | "after" | "within" | "manual";

/**
 * State and resources at one moment, as JSON. A snapshot without entries and contents names a moment of its store, and
 * `checkpoints.restore` takes its id. One with them can be loaded into any store by `checkpoints.load`.
 */
export interface Snapshot {
  readonly schema_version: "2";
  /** `<run>/<step>/before` or `<run>/<step>/after`, which can be restored. Others begin with `snap_`. */
  readonly snapshot_id: string;
  readonly created_at: Instant;
  readonly phase: SnapshotPhase;
  /** The snapshot before the call of this one. Null: it belongs to no call. */
  readonly parent_id: string | null;
  readonly tags: Readonly<Record<string, string>>;
  /** The call before, after or within which it was taken. Null: none. */
  readonly call: SnapshotCall | null;
  readonly project: string | null;
  readonly session: string | null;
  /** The version of the state. Within a call: that on which the call works. */
  readonly version: number;
  readonly slices: Readonly<Record<string, SliceSnapshot>>;
  /** By the names that tools use. */
  readonly resources: Readonly<Record<string, ResourceSnapshot>>;
}

export interface SnapshotCall {
  readonly run_id: RunId;
  readonly step_id: StepId;
  readonly attempt: number;
  readonly tool: string;
}

export interface SliceSnapshot {
  readonly policy: SlicePolicy;
  readonly version: string;
  readonly shape: SliceShape;
  readonly size: number;
  /** Of the entries. Equal entries have equal digests in every store. */
  readonly digest: Digest;
  /** Absent: the snapshot only names its moment. */
  readonly entries?: readonly Json[] | JsonObject;
}

export interface ResourceSnapshot {
  /** The resource by its own name: `files:/srv/app`. */
  readonly resource: string;
  readonly host: string | null;
  /** Equal revisions of a resource mean equal contents. Null: not known. */
  readonly revision: string | null;
  /** Absent: the snapshot only names its moment. */
  readonly contents?: Json;
}

/** The parts of a state that a snapshot contains. */
export interface SnapshotContents {
  /** Slices with one of these policies. Default: `state`. */
  readonly policies?: readonly SlicePolicy[];
  readonly tags?: Readonly<Record<string, string>>;
}

/**
 * Returns whether two snapshots contain the same state and the same resources, whenever and wherever they were taken.
 * False also if they do not tell: both must contain the same slices, and the revisions or the contents of resources.
 */
export function snapshotsEquivalent(left: Snapshot, right: Snapshot): boolean {
  return (
    sameNames(left.slices, right.slices) &&
    sameNames(left.resources, right.resources) &&
    Object.entries(left.slices).every(([name, slice]) => isSameSlice(slice, right.slices[name])) &&
    (left.snapshot_id === right.snapshot_id ||
      Object.entries(left.resources).every(([name, one]) => isSameResource(one, right.resources[name])))
  );
}

function sameNames(left: object, right: object): boolean {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => Object.hasOwn(right, name));
}

function isSameSlice(left: SliceSnapshot, right: SliceSnapshot | undefined): boolean {
  const { policy, version, shape, digest } = left;
  return right?.policy === policy && right.version === version && right.shape === shape && right.digest === digest;
}

function isSameResource(left: ResourceSnapshot, right: ResourceSnapshot | undefined): boolean {
  if (right === undefined) return false;
  const isOfOne = left.resource === right.resource && left.host === right.host;
  if (isOfOne && left.revision !== null && left.revision === right.revision) return true;
  return left.contents !== undefined && sameJson(left.contents, right.contents);
}
