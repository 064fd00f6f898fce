import type { Run } from "../../core/run/run.ts";
import type { Snapshot, SnapshotContents } from "../../core/state/snapshot.ts";
import type { Tool, ToolContext } from "../../core/tool/tool.ts";
import type { CapturedResources } from "../resources/resource-registry.ts";
import { snapshotResources } from "../resources/snapshot-tools.ts";
import type { AttemptState } from "../state/attempt-state.ts";
import { readSnapshotContents } from "../state/slice-snapshots.ts";
import { snapshotId } from "../state/snapshot-id.ts";
import type { CallPorts } from "./call-ports.ts";

/** The project and the session of a call. */
export type SnapshotPlace = Pick<Run, "project" | "session">;

interface SnapshotSource {
  readonly tool: Tool;
  readonly place: SnapshotPlace;
  readonly state: Pick<AttemptState, "snapshotSlices" | "reads"> | null;
  readonly captured: CapturedResources | null;
}

/** Returns the state and the captured resources as a call sees them. */
export async function snapshotForCall(
  { clock, newId }: CallPorts,
  { tool, place, state, captured }: SnapshotSource,
  context: Pick<ToolContext, "run_id" | "step_id" | "attempt" | "resource">,
  options: SnapshotContents,
): Promise<Snapshot> {
  const { policies, tags } = readSnapshotContents(options);
  const { run_id, step_id, attempt } = context;
  const created_at = clock.now();
  const resources = captured?.resources ?? {};
  return {
    schema_version: "2",
    snapshot_id: newId("snap", created_at),
    created_at,
    phase: "within",
    parent_id: snapshotId({ runId: run_id, stepId: step_id, side: "before" }),
    tags,
    call: { run_id, step_id, attempt, tool: tool.name },
    project: place.project,
    session: place.session,
    version: state?.reads.base.version ?? 0,
    slices: state?.snapshotSlices(policies) ?? {},
    resources: await snapshotResources(resources, Object.keys(resources), true, context),
  };
}
