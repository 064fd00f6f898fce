import type { StatePoint } from "../store/tables.ts";
import type { Digest, Instant } from "../values/ids.ts";
import type { Json } from "../values/json.ts";
import type { Patch } from "./patch.ts";
import { type Entries, type ProjectState, sortedPairs, stateFromSlices } from "./project-state.ts";

/**
 * The place of a bundle of many versions of a state, so that a worker that loads the state need not read an event for
 * each. The next change records it. It is a cache: if the blob is gone, the events are read instead.
 */
export interface SnapshotPointer {
  /** The last version in the bundle. */
  readonly version: number;
  /** The blob with the changes up to that version. */
  readonly changes: Digest;
  /** The blob with the whole state at that version. Absent: too few changes to justify it. */
  readonly whole?: Digest;
  /**
   * The bytes of changes after which the whole state is stored again, so that its cost stays in proportion to the
   * changes.
   */
  readonly until_whole: number;
}

/** A version of a state, as its event records it. */
export interface RecordedVersion {
  /** The project of the version. A fork continues from a version of another project. */
  readonly project: string;
  readonly version: number;
  readonly at: Instant;
  readonly point: StatePoint;
  readonly patch: Patch;
  readonly kept?: SnapshotPointer;
}

/** Consecutive versions, oldest first, and the event of the version before them. */
export interface VersionBundle {
  readonly base: StatePoint | null;
  readonly versions: readonly RecordedVersion[];
}

/** The format of bundles. A bundle in another format is ignored, and the events are read instead. */
const FORMAT = "writ/snapshot/v1";

export function encodeBundle({ base, versions }: VersionBundle): string {
  return JSON.stringify({ form: FORMAT, base, versions });
}

export function decodeBundle(text: string): VersionBundle | null {
  const found = JSON.parse(text) as VersionBundle & { readonly form: string };
  return found.form === FORMAT ? found : null;
}

/**
 * Encodes a whole state. No two versions have the same text, so that the blob of one can be deleted alone. Maps are
 * stored as pairs, because objects do not preserve every key and order.
 */
export function encodeState(
  state: ProjectState,
  { project, version }: Pick<RecordedVersion, "project" | "version">,
): string {
  const slices = [...state]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, entries]) => ({ name, v: entries.v, shape: entries.shape, items: itemsOf(entries) }));
  return JSON.stringify({ form: FORMAT, project, version, slices });
}

export function decodeState(text: string): ProjectState | null {
  const found = JSON.parse(text) as { readonly form: string; readonly slices: Parameters<typeof stateFromSlices>[0] };
  return found.form === FORMAT ? stateFromSlices(found.slices) : null;
}

function itemsOf(entries: Entries): readonly Json[] {
  return entries.shape === "list" ? [...entries.items] : (sortedPairs(entries.items) as readonly Json[]);
}
