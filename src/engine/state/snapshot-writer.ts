import { hash } from "node:crypto";
import type { ProjectState } from "../../core/state/project-state.ts";
import {
  encodeBundle,
  encodeState,
  type RecordedVersion,
  type SnapshotPointer,
} from "../../core/state/version-bundle.ts";
import type { Store } from "../../core/store/store.ts";
import type { StatePoint } from "../../core/store/tables.ts";
import type { Digest, Tenant } from "../../core/values/ids.ts";

/** The versions for a snapshot, oldest first, and the state after them. */
export interface SnapshotInput {
  readonly base: StatePoint | null;
  readonly versions: readonly RecordedVersion[];
  readonly state: ProjectState;
  /** The previous snapshot, or null. */
  readonly last: SnapshotPointer | null;
}

/**
 * Writes a snapshot of versions. It includes the whole state if the changes since the last whole state are as large as
 * that state.
 */
export async function writeSnapshot(
  store: Store,
  tenant: Tenant,
  { base, versions, state, last }: SnapshotInput,
): Promise<SnapshotPointer> {
  const newest = versions.at(-1) as RecordedVersion;
  const { version } = newest;
  const put = async (text: string): Promise<{ readonly name: Digest; readonly bytes: number }> => {
    const bytes = Buffer.from(text);
    const name = snapshotBlobName(text);
    await store.putBlob(tenant, name, bytes);
    return { name, bytes: bytes.length };
  };
  const { name: changes, bytes } = await put(encodeBundle({ base, versions }));
  const left = (last?.until_whole ?? 0) - bytes;
  if (left > 0) return { version, changes, until_whole: left };
  const whole = await put(encodeState(state, newest));
  return { version, changes, whole: whole.name, until_whole: whole.bytes };
}

/** Returns the name of a blob, a hash of its content. */
export function snapshotBlobName(text: string): Digest {
  return hash("sha256", `\u0002writ/snapshot/v1${text}`) as Digest;
}
