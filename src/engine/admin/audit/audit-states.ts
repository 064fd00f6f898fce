import { applyPatch, EMPTY_STATE, type ProjectState } from "../../../core/state/project-state.ts";
import {
  decodeBundle,
  encodeState,
  type RecordedVersion,
  type SnapshotPointer,
  type VersionBundle,
} from "../../../core/state/version-bundle.ts";
import type { Store } from "../../../core/store/store.ts";
import type { ProjectRow, StatePoint } from "../../../core/store/tables.ts";
import { FaultError } from "../../../core/values/fault.ts";
import type { Tenant } from "../../../core/values/ids.ts";
import { isName } from "../../../core/values/is-name.ts";
import { type Json, sameJson } from "../../../core/values/json.ts";
import type { AuditReport } from "../../api/engine-api.ts";
import { listRows } from "../../journal/store-listing.ts";
import { snapshotBlobName } from "../../state/snapshot-writer.ts";
import { StateHistoryReader } from "../../state/state-history.ts";
import { parseRow } from "./explain-row.ts";

type Broken = AuditReport["broken"][number];

/** Checks the snapshots of states against the events. A missing snapshot is not a problem. */
export async function auditStates(store: Store, tenant: Tenant): Promise<readonly Broken[]> {
  const broken: Broken[] = [];
  for await (const { row } of listRows(store, tenant, "project")) {
    const point = parseRow(row) as ProjectRow | null;
    if (point === null || !isName(point.run_id)) continue; // No event explains such a row, which the audit reports.
    try {
      broken.push(...(await findBrokenSnapshots({ store, tenant }, new StateHistoryReader(store, tenant, point))));
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      broken.push({ run_id: point.run_id, position: point.position, what: error.fault.message });
    }
  }
  return broken;
}

async function findBrokenSnapshots(
  { store, tenant }: AuditScope,
  reader: StateHistoryReader,
): Promise<readonly Broken[]> {
  const versions = await readAllVersions(reader);
  const pointers = new Map(versions.map((each) => [each.kept ? versionName(each, each.kept) : null, each]));
  const broken: Broken[] = [];
  let state = EMPTY_STATE;
  for (const [index, one] of versions.entries()) {
    state = applyPatch(state, one.patch);
    const pointer = pointers.get(versionName(one, one));
    if (pointer?.kept === undefined) continue;
    const what = await findSnapshotProblem({ store, tenant }, pointer.kept, {
      state,
      versions: versions.slice(0, index + 1),
    });
    if (what !== null) broken.push({ run_id: pointer.point.run_id, position: pointer.point.position, what });
  }
  return broken;
}

interface AuditScope {
  readonly store: Store;
  readonly tenant: Tenant;
}

function versionName({ project }: RecordedVersion, { version }: { readonly version: number }): string {
  return `${version} ${project}`;
}

/** Returns every version from the events, oldest first. */
async function readAllVersions(reader: StateHistoryReader): Promise<readonly RecordedVersion[]> {
  const versions: RecordedVersion[] = [];
  while (reader.base !== null) versions.push(...(await reader.readNextEvent()).versions);
  return versions.reverse();
}

/** A version as the events imply it: all versions up to it, and its state. */
interface FoldedVersion {
  readonly versions: readonly RecordedVersion[];
  readonly state: ProjectState;
}

async function findSnapshotProblem(
  { store, tenant }: AuditScope,
  kept: SnapshotPointer,
  { versions, state }: FoldedVersion,
): Promise<string | null> {
  const what = `the snapshot of the state at version ${kept.version}`;
  for (const name of [kept.changes, kept.whole ?? kept.changes]) {
    const bytes = await store.blob(tenant, name);
    if (bytes !== null && snapshotBlobName(Buffer.from(bytes).toString("utf8")) !== name) return `${what} was changed`;
  }
  const newest = versions.at(-1) as RecordedVersion;
  const isWhole = kept.whole === undefined || kept.whole === snapshotBlobName(encodeState(state, newest));
  const bytes = await store.blob(tenant, kept.changes);
  const bundle = bytes && decodeBundle(Buffer.from(bytes).toString("utf8"));
  return isWhole && (bundle === null || isSuffixOf(versions, bundle))
    ? null
    : `${what} does not equal the fold of its events`;
}

function isSuffixOf(versions: readonly RecordedVersion[], { base, versions: kept }: VersionBundle): boolean {
  const before = versions.at(-kept.length - 1)?.point ?? null;
  return sameJsonValue(versions.slice(-kept.length), kept) && sameJsonValue(before, base);
}

function sameJsonValue(
  left: readonly RecordedVersion[] | StatePoint | null,
  right: readonly RecordedVersion[] | StatePoint | null,
): boolean {
  return sameJson(left as unknown as Json, right as unknown as Json);
}
