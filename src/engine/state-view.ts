import { Draft } from "../core/draft.ts";
import type { RunId, Tenant } from "../core/id.ts";
import type { Principal } from "../core/principal.ts";
import { projectOf } from "../core/run.ts";
import type { StateOf, StateView } from "./api.ts";
import { load } from "./load.ts";
import type { Ports } from "./ports.ts";
import type { Version } from "./projects.ts";

/** A project's state as it is now. */
export async function stateOf(ports: Ports, { tenant }: Principal, of: StateOf): Promise<StateView> {
  const { key, session } = await scopeOf(ports, tenant, of);
  ports.projects.doubt(tenant, key);
  const project = await ports.projects.open(tenant, key);
  project.users -= 1;
  return viewOf(ports, project.head, session);
}

interface StateScope {
  readonly key: string;
  readonly session: string;
}

async function scopeOf({ store }: Ports, tenant: Tenant, of: StateOf): Promise<StateScope> {
  if ("project" in of)
    return { key: projectOf({ project: of.project, origin: "" as RunId }), session: of.session ?? "" };
  const { run } = await load(store, tenant, of.runId as RunId);
  return { key: projectOf(run), session: run.session ?? "" };
}

function viewOf({ slices }: Ports, { version, state }: Version, session: string): StateView {
  return {
    version,
    slice: (slice) => new Draft(state, { slices, session, writes: false }).slice(slice) as never,
  };
}
