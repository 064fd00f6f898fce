import { Draft } from "../core/draft.ts";
import type { RunId, Tenant } from "../core/id.ts";
import type { Principal } from "../core/principal.ts";
import { projectKey, stateKeyOf } from "../core/run.ts";
import { openProject } from "./desk.ts";
import { load } from "./load.ts";
import type { Ports } from "./ports.ts";
import type { Project } from "./projects.ts";
import type { StateOf, StateView } from "./state-api.ts";
import { snapshotOf } from "./state-snapshot.ts";

/** A project's state as it is now. */
export async function stateOf(ports: Ports, { tenant }: Principal, of: StateOf): Promise<StateView> {
  const { project, session } = await openState(ports, tenant, of);
  const { version, state } = project.head;
  const terms = { slices: ports.slices, session, writes: false };
  return {
    version,
    slice: (slice) => new Draft(state, terms).slice(slice) as never,
    snapshot: (options = {}) => snapshotOf(state, terms, { version, created_at: ports.clock.now() }, options),
  };
}

interface OpenState {
  readonly project: Project;
  readonly session: string;
}

/** The state that is meant, as it is now, for whoever only looks. */
export async function openState(ports: Ports, tenant: Tenant, of: StateOf): Promise<OpenState> {
  const opened = "project" in of ? await named(ports, tenant, of) : await ofRun(ports, tenant, of.runId as RunId);
  opened.project.users -= 1;
  return opened;
}

async function named(
  { projects }: Ports,
  tenant: Tenant,
  of: Extract<StateOf, { project: string }>,
): Promise<OpenState> {
  const key = projectKey(of.project);
  projects.doubt(tenant, key);
  return { project: await projects.open(tenant, key), session: of.session ?? "" };
}

async function ofRun(ports: Ports, tenant: Tenant, id: RunId): Promise<OpenState> {
  const { run } = await load(ports.store, tenant, id);
  ports.projects.doubt(tenant, stateKeyOf(run));
  return { project: await openProject(ports, run), session: run.session ?? "" };
}
