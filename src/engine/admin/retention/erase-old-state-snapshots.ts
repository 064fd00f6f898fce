import type { RecordedVersion } from "../../../core/state/version-bundle.ts";
import type { Store } from "../../../core/store/store.ts";
import type { ProjectRow, StatePoint } from "../../../core/store/tables.ts";
import type { Digest, Instant, Tenant } from "../../../core/values/ids.ts";
import { hashBody } from "../../journal/journal-codec.ts";
import { listRows } from "../../journal/store-listing.ts";
import { StateHistoryReader } from "../../state/state-history.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";

/**
 * Erases snapshots that are older than the last whole snapshot before a time. Every version can still be read, because
 * its event stays. Returns the number of erased snapshots.
 */
export async function eraseOldStateSnapshots({ store }: WorkerPorts, tenant: Tenant, before: Instant): Promise<number> {
  let dropped = 0;
  for await (const { row } of listRows(store, tenant, "project")) {
    const { point, blobs } = await findOutdatedSnapshots(
      new StateHistoryReader(store, tenant, JSON.parse(row) as ProjectRow),
      before,
    );
    if (point !== null && blobs.length > 0 && (await eraseBlobs(store, tenant, point, blobs))) dropped += blobs.length;
  }
  return dropped;
}

interface OutdatedSnapshots {
  readonly point: StatePoint | null;
  readonly blobs: readonly Digest[];
}

async function findOutdatedSnapshots(reader: StateHistoryReader, before: Instant): Promise<OutdatedSnapshots> {
  let point: StatePoint | null = null;
  let project: string | null = null;
  const blobs: Digest[] = [];
  while (reader.base !== null) {
    const { nextBundle } = reader;
    const { versions, kept } = await reader.readNext();
    // Older snapshots were erased before, or never written.
    if (nextBundle !== null && kept === null) break;
    const newest = versions.at(-1) as RecordedVersion;
    project ??= newest.project;
    // The rest belongs to the state that this one was forked from.
    if (newest.project !== project) break;
    if (point !== null && kept !== null) blobs.push(kept.changes, ...(kept.whole === undefined ? [] : [kept.whole]));
    else if (kept?.whole !== undefined && newest.at < before) point = newest.point;
  }
  return { point, blobs };
}

/**
 * Erases the blobs under the run of the last snapshot that stays. If that run has appended meanwhile, erases nothing.
 */
async function eraseBlobs(store: Store, tenant: Tenant, { run_id: run }: StatePoint, blobs: readonly Digest[]) {
  const position = (await store.head(tenant, run))?.position ?? 0;
  const keep = Array.from({ length: position }, (_, index) => index + 1);
  return (await store.erase({ tenant, run, position, keep, blobs }, hashBody)) !== null;
}
