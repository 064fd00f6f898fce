import type { Digest, Instant, Tenant } from "../../core/id.ts";
import type { ProjectRow, StatePoint } from "../../core/rows.ts";
import type { Told } from "../../core/state/kept.ts";
import type { Store } from "../../core/store.ts";
import { Trail } from "../desk/past.ts";
import { rowsIn } from "../listing.ts";
import type { Ports } from "../ports.ts";
import { bodyHash } from "./journal.ts";

/**
 * Drops what was kept of states in one piece, but for what whoever comes cold reads: all of a state as it was last kept before a
 * moment, and what came after it. Every version can still be read: its event stays. Answers how many pieces were dropped.
 */
export async function retainStates({ store }: Ports, tenant: Tenant, before: Instant): Promise<number> {
  let dropped = 0;
  for await (const { row } of rowsIn(store, tenant, "project")) {
    const { point, blobs } = await outdated(new Trail(store, tenant, JSON.parse(row) as ProjectRow), before);
    if (point !== null && blobs.length > 0 && (await drop(store, tenant, point, blobs))) dropped += blobs.length;
  }
  return dropped;
}

interface Outdated {
  readonly point: StatePoint | null;
  readonly blobs: readonly Digest[];
}

async function outdated(trail: Trail, before: Instant): Promise<Outdated> {
  let point: StatePoint | null = null;
  let project: string | null = null;
  const blobs: Digest[] = [];
  while (trail.upon !== null) {
    const { said } = trail;
    const { told, kept } = await trail.next();
    // What was kept before this was dropped already, or nothing was kept yet.
    if (said !== null && kept === null) break;
    const newest = told.at(-1) as Told;
    project ??= newest.project;
    // What a fork began with is not its own.
    if (newest.project !== project) break;
    if (point !== null && kept !== null) blobs.push(kept.changes, ...(kept.whole === undefined ? [] : [kept.whole]));
    else if (kept?.whole !== undefined && newest.at < before) point = newest.point;
  }
  return { point, blobs };
}

/** Under the run that told the last one that stays: if it has moved on meanwhile, they are dropped another time. */
async function drop(store: Store, tenant: Tenant, { run_id: run }: StatePoint, blobs: readonly Digest[]) {
  const position = (await store.head(tenant, run))?.position ?? 0;
  const keep = Array.from({ length: position }, (_, index) => index + 1);
  return (await store.erase({ tenant, run, position, keep, blobs }, bodyHash)) !== null;
}
