import type { Event } from "../../core/event/event.ts";
import type { Step } from "../../core/run/run.ts";
import type { ResourceSnapshot, Snapshot } from "../../core/state/snapshot.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import type { Checkpoints, LoadOptions, SnapshotReadOptions, TakeSnapshotOptions } from "../api/checkpoint-api.ts";
import type { CallResult, SubmitOptions } from "../api/engine-api.ts";
import { readPrincipal } from "../api/read-principal.ts";
import type { CheckpointRef, StateSnapshot } from "../api/state-api.ts";
import { loadEventAt } from "../journal/load-run.ts";
import { readSnapshotContents, snapshotSlices } from "../state/slice-snapshots.ts";
import { parseSnapshotId, snapshotId } from "../state/snapshot-id.ts";
import { snapshotVerbs } from "../state/snapshot-verbs.ts";
import { STATE_LOAD_TOOL } from "../state/state-tools.ts";
import { assertSeesAllState } from "../state/view-state.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { atCheckpoint, type CheckpointContext } from "./checkpoint-admin.ts";
import { takenSnapshot } from "./taken-snapshot.ts";

/** Calls a tool of the engine by a run of its own. */
type CallTool = (name: string, input: JsonObject, options: SubmitOptions) => Promise<CallResult>;

/** Takes, reads and loads snapshots. */
export class SnapshotAdmin implements Pick<Checkpoints, "take" | "get" | "load"> {
  readonly #ports: WorkerPorts;
  readonly #call: CallTool;

  constructor(ports: WorkerPorts, call: CallTool) {
    this.#ports = ports;
    this.#call = call;
  }

  async take({ tags = {}, contents = false, policies, ...options }: TakeSnapshotOptions): Promise<Snapshot> {
    const { principal, project } = options;
    assertSeesAllState(readPrincipal(principal));
    if (project === undefined)
      throw new FaultError(fault("INVALID_INPUT", "a snapshot is of a project; pass its name as project"));
    const parts = { ...(policies !== undefined && { policies }), contents };
    readSnapshotContents(parts);
    const { run_id, step } = await this.#call(snapshotVerbs.take, { tags, contents }, options);
    if (step.state === "succeeded")
      return this.get({ runId: run_id, stepId: "call", side: "after" }, { principal, ...parts });
    if (step.state !== "waiting_approval")
      throw new FaultError(step.fault ?? fault("NOT_POSSIBLE", `the snapshot ${run_id} is ${step.state}`));
    const message = `the snapshot is held; it is taken once a person approves gate ${step.gate_id}`;
    throw new FaultError(fault("HELD_FOR_APPROVAL", message, { gate_id: step.gate_id, run_id }));
  }

  async get(
    given: CheckpointRef | string,
    { principal, contents = false, ...rest }: SnapshotReadOptions,
  ): Promise<Snapshot> {
    const who = readPrincipal(principal);
    assertSeesAllState(who);
    const { policies } = readSnapshotContents(rest);
    const at = typeof given === "string" ? parseSnapshotId(given) : given;
    return atCheckpoint(this.#ports, who.tenant, at, async (found) => {
      const { run, step, version } = found;
      const session = run.session ?? "";
      const { slices } = this.#ports;
      return {
        ...(await this.#describe(found, at)),
        project: run.project,
        session: run.session,
        version: version.version,
        slices: snapshotSlices(version.state, { slices, session, policies, withEntries: contents }),
        resources: this.#resources(step, at, contents),
      };
    });
  }

  async #describe(
    { run, step, version }: CheckpointContext,
    { side }: CheckpointRef,
  ): Promise<Omit<Snapshot, "project" | "session" | "version" | "slices" | "resources">> {
    const { step_id, name } = step.spec;
    const event = await loadEventAt(this.#ports.store, run.tenant, run.id, step.checkpoint?.position ?? 0);
    const taken = side === "after" ? takenSnapshot(step) : null;
    return {
      schema_version: "2",
      snapshot_id: snapshotId({ runId: run.id, stepId: step_id, side }),
      created_at: instantOf(event, side) ?? version.at,
      phase: taken === null ? side : "manual",
      parent_id: side === "after" ? snapshotId({ runId: run.id, stepId: step_id, side: "before" }) : null,
      tags: taken?.tags ?? {},
      call: { run_id: run.id, step_id, attempt: step.attempts, tool: name },
    };
  }

  #resources(step: Step, { runId, stepId, side }: CheckpointRef, withContents: boolean): Snapshot["resources"] {
    const taken = takenSnapshot(step);
    if (taken !== null)
      return Object.fromEntries(
        Object.entries(taken.resources).map(([name, part]) => [name, withContents ? part : withoutContents(part)]),
      );
    const { byName } = this.#ports.resources;
    const isUnchanged = step.standing.state !== "succeeded";
    const changes = new Set((step.checkpoint?.captures ?? []).map(({ resource }) => resource));
    const known = this.#ports.toolbox.get(step.spec.name)?.resources ?? {};
    return Object.fromEntries(
      byName.map(([name, resource]) => {
        const isBefore = side === "before" || (isUnchanged && !changes.has(resource.name));
        const revision = snapshotId({ runId, stepId, side: isBefore ? "before" : "after" });
        return [
          name,
          { resource: resource.name, host: resource.host, revision: Object.hasOwn(known, name) ? revision : null },
        ];
      }),
    );
  }

  async load(
    snapshot: Snapshot | StateSnapshot,
    { preserveLogs = true, resources = "load", ...options }: LoadOptions,
  ): Promise<CallResult> {
    if (resources !== "load" && resources !== "leave")
      throw new FaultError(fault("INVALID_INPUT", "resources must be load or leave"));
    const loaded = resources === "leave" ? withoutResources(snapshot) : snapshot;
    const isState = this.#ports.slices.length > 0 && preserveLogs === true && !hasResources(loaded);
    const input = { snapshot: loaded as unknown as Json };
    if (isState) return this.#call(STATE_LOAD_TOOL, input, options);
    return this.#call(snapshotVerbs.load, { ...input, preserve_logs: preserveLogs }, options);
  }
}

function instantOf(event: Event | null, side: CheckpointRef["side"]): Event["at"] | null {
  if (event === null) return null;
  return side === "before" && "started_at" in event ? event.started_at : event.at;
}

function withoutContents({ contents: _contents, ...part }: ResourceSnapshot): ResourceSnapshot {
  return part;
}

/** A snapshot that cannot be read is left to the check of the call, which refuses it on record. */
function hasResources(snapshot: unknown): boolean {
  try {
    return Object.keys((snapshot as Snapshot).resources ?? {}).length > 0;
  } catch {
    return true;
  }
}

function withoutResources<Given>(snapshot: Given): Given {
  try {
    const { resources: _resources, ...rest } = snapshot as Partial<Snapshot>;
    return (rest.schema_version === "2" ? { ...rest, resources: {} } : rest) as Given;
  } catch {
    return snapshot;
  }
}
