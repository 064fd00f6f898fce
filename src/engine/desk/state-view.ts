import { FaultError, fault } from "../../core/fault.ts";
import type { RunId, Tenant } from "../../core/id.ts";
import { type Principal, stateBounds } from "../../core/principal.ts";
import { projectKey, stateKeyOf } from "../../core/run.ts";
import { Draft } from "../../core/state/draft.ts";
import { type ProjectState, wholeOf } from "../../core/state/project-state.ts";
import type { Ports } from "../ports.ts";
import { assertName } from "../principal.ts";
import { load } from "../record/load.ts";
import { openProject } from "./desk.ts";
import type { Project, Version } from "./projects.ts";
import type { RecordedSlice, StateOf, StateView, StateWhen } from "./state-api.ts";
import { snapshotOf } from "./state-snapshot.ts";

/** A project's state as it is now, or was. */
export async function stateOf(ports: Ports, principal: Principal, of: StateOf & StateWhen): Promise<StateView> {
  const { project, session } = await openState(ports, principal.tenant, of);
  const { version, at, point, state } = await versionIn(project, of);
  const terms = { slices: ports.slices, session, writes: false, bounds: stateBounds(principal) };
  return {
    version,
    at: point === null ? null : at,
    all: () => {
      assertUnbound(principal);
      return recorded(state);
    },
    slice: (slice) => new Draft(state, terms).slice(slice) as never,
    snapshot: (options = {}) => {
      assertUnbound(principal);
      return snapshotOf(state, terms, { version, created_at: ports.clock.now() }, options);
    },
  };
}

/** What is about all of a state is for those who may see all of it. */
export function assertUnbound(principal: Principal): void {
  if (stateBounds(principal).length === 0) return;
  const message = `${principal.id} is held to parts of state, and this is about all of it`;
  throw new FaultError(fault("AUTH_FORBIDDEN", message));
}

async function versionIn(project: Project, { version, at }: StateWhen): Promise<Version> {
  if (version !== undefined && at !== undefined)
    throw new FaultError(fault("INVALID_INPUT", "state is that of a version or that at a time; say one of them"));
  const asked = version ?? at ?? 0;
  if (!Number.isSafeInteger(asked) || asked < 0)
    throw new FaultError(
      fault("INVALID_INPUT", `${asked} is no version and no time; both are whole numbers from 0 on`),
    );
  const found =
    version === undefined
      ? await project.latest((one) => at === undefined || one.at <= at)
      : await project.latest((one) => one.version <= version);
  if (found !== null && (version ?? 0) <= project.head.version) return found;
  const message = `there is no such version of the state; the latest is ${project.head.version}`;
  throw new FaultError(fault("CHECKPOINT_NOT_FOUND", message));
}

function recorded(state: ProjectState): Readonly<Record<string, RecordedSlice>> {
  const slices = [...state].map(
    ([name, entries]) => [name, { version: entries.v, shape: entries.shape, entries: wholeOf(entries) }] as const,
  );
  return Object.fromEntries(slices.sort(([left], [right]) => (left < right ? -1 : 1)));
}

interface OpenState {
  readonly project: Project;
  readonly session: string;
}

/** The state that is meant, as it is now, for whoever only looks. */
export async function openState(ports: Ports, tenant: Tenant, of: StateOf): Promise<OpenState> {
  const opened = "project" in of ? await named(ports, tenant, of) : await ofRun(ports, tenant, of.runId as RunId);
  opened.project.leave();
  return opened;
}

async function named(
  { projects }: Ports,
  tenant: Tenant,
  of: Extract<StateOf, { project: string }>,
): Promise<OpenState> {
  assertName(of.project, "project");
  if (of.session !== undefined) assertName(of.session, "session");
  const key = projectKey(of.project);
  projects.doubt(tenant, key);
  return { project: await projects.open(tenant, key), session: of.session ?? "" };
}

async function ofRun(ports: Ports, tenant: Tenant, id: RunId): Promise<OpenState> {
  const { run } = await load(ports.store, tenant, id);
  ports.projects.doubt(tenant, stateKeyOf(run));
  return { project: await openProject(ports, run), session: run.session ?? "" };
}
