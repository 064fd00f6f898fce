import { type Principal, stateBounds } from "../../core/approval/principal.ts";
import { projectKey, runStateKey } from "../../core/run/run.ts";
import { Draft } from "../../core/state/draft.ts";
import { entriesToJson, type ProjectState } from "../../core/state/project-state.ts";
import type { Snapshot } from "../../core/state/snapshot.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { assertName } from "../api/read-principal.ts";
import type {
  RecordedSlice,
  SnapshotOptions,
  StateSelector,
  StateVersionSelector,
  StateView,
} from "../api/state-api.ts";
import { assertKnownFields } from "../api/verb-options.ts";
import { loadRun } from "../journal/load-run.ts";
import { openRunState } from "./attempt-state.ts";
import type { StateVersion, VersionedState } from "./project-states.ts";
import { allPolicies, readSnapshotContents, snapshotSlices } from "./slice-snapshots.ts";
import type { StatePorts } from "./state-ports.ts";

/** A project's state as it is now, or was. */
export async function viewState(
  ports: StatePorts,
  principal: Principal,
  of: StateSelector & StateVersionSelector,
): Promise<StateView> {
  const { project, session } = await openState(ports, principal.tenant, of);
  const { version, at, point, state } = await findVersion(project, of);
  const terms = { slices: ports.slices, session, writes: false, bounds: stateBounds(principal) };
  return {
    version,
    at: point === null ? null : at,
    all: () => {
      assertSeesAllState(principal);
      return recordedSlices(state);
    },
    slice: (slice) => new Draft(state, terms).slice(slice) as never,
    snapshot: (options = {}) => {
      assertKnownFields("the options of snapshot", options, ["includeAll", "policies", "tags"]);
      assertSeesAllState(principal);
      return snapshotOfView(ports, { version, state, session, project: "project" in of ? of.project : null }, options);
    },
  };
}

interface ViewedState extends Pick<StateVersion, "version" | "state"> {
  readonly project: string | null;
  readonly session: string;
}

function snapshotOfView(
  { slices, clock, newId }: StatePorts,
  { version, state, project, session }: ViewedState,
  { includeAll = false, ...contents }: SnapshotOptions,
): Snapshot {
  const { policies, tags } = readSnapshotContents(contents);
  const chosen = includeAll ? allPolicies : policies;
  const created_at = clock.now();
  return {
    schema_version: "2",
    snapshot_id: newId("snap", created_at),
    created_at,
    phase: "manual",
    parent_id: null,
    tags,
    call: null,
    project,
    session: session === "" ? null : session,
    version,
    slices: snapshotSlices(state, { slices, session, policies: chosen, withEntries: true }),
    resources: {},
  };
}

/** Throws unless the principal may see the whole state. */
export function assertSeesAllState(principal: Principal): void {
  if (stateBounds(principal).length === 0) return;
  const message = `${principal.id} may see only parts of state, and this needs the whole state`;
  throw new FaultError(fault("AUTH_FORBIDDEN", message));
}

async function findVersion(project: VersionedState, { version, at }: StateVersionSelector): Promise<StateVersion> {
  if (version !== undefined && at !== undefined)
    throw new FaultError(fault("INVALID_INPUT", "state is that of a version or that at a time; say one of them"));
  const asked = version ?? at ?? 0;
  if (!Number.isSafeInteger(asked) || asked < 0)
    throw new FaultError(
      fault("INVALID_INPUT", `${asked} is no version and no time; both are whole numbers from 0 on`),
    );
  const found =
    version === undefined
      ? await project.findLatest((one) => at === undefined || one.at <= at)
      : await project.findLatest((one) => one.version <= version);
  if (found !== null && (version ?? 0) <= project.head.version) return found;
  const message = `there is no such version of the state; the latest is ${project.head.version}`;
  throw new FaultError(fault("CHECKPOINT_NOT_FOUND", message));
}

function recordedSlices(state: ProjectState): Readonly<Record<string, RecordedSlice>> {
  const slices = [...state].map(
    ([name, entries]) => [name, { version: entries.v, shape: entries.shape, entries: entriesToJson(entries) }] as const,
  );
  return Object.fromEntries(slices.sort(([left], [right]) => (left < right ? -1 : 1)));
}

interface OpenedState {
  readonly project: VersionedState;
  readonly session: string;
}

/** Opens the selected state at its current version, for reading. */
export async function openState(ports: StatePorts, tenant: Tenant, of: StateSelector): Promise<OpenedState> {
  if (!("project" in of) && of.runId === undefined)
    throw new FaultError(fault("INVALID_INPUT", "which state is missing; pass a project, or the runId of a run"));
  const opened =
    "project" in of
      ? await openNamedProject(ports, tenant, of)
      : await openStateOfRun(ports, tenant, of.runId as RunId);
  opened.project.leave();
  return opened;
}

async function openNamedProject(
  { projects }: StatePorts,
  tenant: Tenant,
  of: Extract<StateSelector, { project: string }>,
): Promise<OpenedState> {
  assertName(of.project, "project");
  if (of.session !== undefined) assertName(of.session, "session");
  const key = projectKey(of.project);
  projects.markStale(tenant, key);
  return { project: await projects.open(tenant, key), session: of.session ?? "" };
}

async function openStateOfRun(ports: StatePorts, tenant: Tenant, id: RunId): Promise<OpenedState> {
  const { run } = await loadRun(ports.store, tenant, id);
  ports.projects.markStale(tenant, runStateKey(run));
  return { project: await openRunState(ports, run), session: run.session ?? "" };
}
