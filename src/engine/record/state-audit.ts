import { FaultError } from "../../core/fault.ts";
import type { Tenant } from "../../core/id.ts";
import { type Json, sameJson } from "../../core/json/json.ts";
import type { ProjectRow, StatePoint } from "../../core/rows.ts";
import { type Bundle, bundleFrom, type Kept, type Told, wholeText } from "../../core/state/kept.ts";
import { NO_STATE, type ProjectState, patched } from "../../core/state/project-state.ts";
import type { Store } from "../../core/store.ts";
import type { AuditReport } from "../api.ts";
import { keptName } from "../desk/keeping.ts";
import { Trail } from "../desk/past.ts";
import { rowsIn } from "../listing.ts";

type Broken = AuditReport["broken"][number];

/** Goes over what is kept of states in one piece: it has to be what the events add up to. What is gone is no loss. */
export async function auditStates(store: Store, tenant: Tenant): Promise<readonly Broken[]> {
  const broken: Broken[] = [];
  for await (const { row } of rowsIn(store, tenant, "project")) {
    const point = JSON.parse(row) as ProjectRow;
    try {
      broken.push(...(await wrongsIn({ store, tenant }, new Trail(store, tenant, point))));
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      broken.push({ run_id: point.run_id, position: point.position, what: error.fault.message });
    }
  }
  return broken;
}

async function wrongsIn({ store, tenant }: Archive, trail: Trail): Promise<readonly Broken[]> {
  const told = await everyVersion(trail);
  const tellers = new Map(told.map((teller) => [teller.kept ? nameOf(teller, teller.kept) : null, teller]));
  const broken: Broken[] = [];
  let state = NO_STATE;
  for (const [index, one] of told.entries()) {
    state = patched(state, one.patch);
    const teller = tellers.get(nameOf(one, one));
    if (teller?.kept === undefined) continue;
    const what = await wrongIn({ store, tenant }, teller.kept, { state, told: told.slice(0, index + 1) });
    if (what !== null) broken.push({ run_id: teller.point.run_id, position: teller.point.position, what });
  }
  return broken;
}

interface Archive {
  readonly store: Store;
  readonly tenant: Tenant;
}

function nameOf({ project }: Told, { version }: { readonly version: number }): string {
  return `${version} ${project}`;
}

/** Oldest first, as the events tell it. */
async function everyVersion(trail: Trail): Promise<readonly Told[]> {
  const told: Told[] = [];
  while (trail.upon !== null) told.push(...(await trail.nextEvent()).told);
  return told.reverse();
}

/** What the events say of a version: all that led to it, and the state that it left. */
interface Truth {
  readonly told: readonly Told[];
  readonly state: ProjectState;
}

async function wrongIn({ store, tenant }: Archive, kept: Kept, { told, state }: Truth): Promise<string | null> {
  const what = `what is kept of the state at version ${kept.version}`;
  for (const name of [kept.changes, kept.whole ?? kept.changes]) {
    const bytes = await store.blob(tenant, name);
    if (bytes !== null && keptName(Buffer.from(bytes).toString("utf8")) !== name) return `${what} was changed`;
  }
  const newest = told.at(-1) as Told;
  const isWhole = kept.whole === undefined || kept.whole === keptName(wholeText(state, newest));
  const bytes = await store.blob(tenant, kept.changes);
  const bundle = bytes && bundleFrom(Buffer.from(bytes).toString("utf8"));
  return isWhole && (bundle === null || isPartOf(told, bundle)) ? null : `${what} is not what its events add up to`;
}

function isPartOf(told: readonly Told[], { upon, told: kept }: Bundle): boolean {
  const before = told.at(-kept.length - 1)?.point ?? null;
  return same(told.slice(-kept.length), kept) && same(before, upon);
}

function same(left: readonly Told[] | StatePoint | null, right: readonly Told[] | StatePoint | null): boolean {
  return sameJson(left as unknown as Json, right as unknown as Json);
}
