import { type Principal, stateBounds } from "../../core/approval/principal.ts";
import type { Event } from "../../core/event/event.ts";
import type { Capture } from "../../core/ports/resource.ts";
import { findStep, type Run, runStateKey, type Step } from "../../core/run/run.ts";
import type { Snapshot } from "../../core/state/snapshot.ts";
import { rowTag } from "../../core/store/row-tags.ts";
import type { RunRow, StatePoint } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, StepId, Tenant } from "../../core/values/ids.ts";
import { isJsonObject, type Json } from "../../core/values/json.ts";
import type { CheckpointFilter } from "../api/checkpoint-api.ts";
import type { CheckpointView, StateSelector } from "../api/state-api.ts";
import { loadRun } from "../journal/load-run.ts";
import { plannedTool, RunAcceptedEvents } from "../journal/run-accepted-events.ts";
import { type CaptureOwner, readCaptureTag } from "../resources/capture-owner.ts";
import type { StateVersion, VersionedState } from "../state/project-states.ts";
import { snapshotId } from "../state/snapshot-id.ts";
import { snapshotVerbs } from "../state/snapshot-verbs.ts";
import { EventPageCache } from "../state/state-history.ts";
import { openState } from "../state/view-state.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { takenSnapshot } from "./taken-snapshot.ts";

/** Lists the changes of a state and of the files of its runs, as far as they can be restored, oldest first. */
export async function listCheckpoints(
  ports: WorkerPorts,
  principal: Principal,
  { callId, calls = "changes", ...of }: StateSelector & CheckpointFilter,
): Promise<readonly CheckpointView[]> {
  if (calls !== "changes" && calls !== "all")
    throw new FaultError(fault("INVALID_INPUT", "calls must be changes or all"));
  const { project } = await openState(ports, principal.tenant, of);
  const reader = new CheckpointReader(ports, principal);
  const versions = restorableVersions(ports, project);
  const views: CheckpointView[] = [];
  // Newest first: the page cache reads pages that end at the requested position.
  for (const version of versions.toReversed()) views.push(await reader.viewVersion(version));
  const known = new Set(versions.map(({ point }) => pointName(point)));
  const oldest = (versions[0]?.version ?? 1) - 1;
  const withFiles = await reader.viewFiles(project, known);
  const others = await reader.viewCalls(project, of, calls === "all" || callId !== undefined ? "all" : "snapshots");
  const changes = [...views, ...withFiles.filter(({ version }) => version >= oldest)];
  const listed = new Set(changes.map(({ after }) => after));
  const rest = others.filter(({ after, version }) => version >= oldest && !listed.has(after));
  const found = [...changes, ...rest].filter(({ call_id }) => callId === undefined || call_id === callId);
  return found.sort(compareCheckpoints);
}

/** Returns the versions that can be restored, within the limits of count and bytes. Version 0 has no change. */
export function restorableVersions({ limits }: WorkerPorts, project: VersionedState): readonly StateVersion[] {
  const recent = project.recentVersions(limits.checkpoints).filter(({ version }) => version > 0);
  let bytes = 0;
  const from = recent.findLastIndex(({ patch }) => {
    bytes += JSON.stringify(patch).length;
    return bytes > limits.checkpointBytes;
  });
  return recent.slice(from + 1);
}

export function checkpointNotFound(what: string): FaultError {
  const message = `there is no checkpoint of ${what}; list the checkpoints to see which exist`;
  return new FaultError(fault("CHECKPOINT_NOT_FOUND", message));
}

/** Orders by version, because clocks of workers differ. A call that changed only files comes after the version that was current. */
function compareCheckpoints(left: CheckpointView, right: CheckpointView): number {
  if (left.version !== right.version) return left.version - right.version;
  const [leftMade, rightMade] = [left, right].map(({ changes }) => changes > 0);
  if (leftMade !== rightMade) return leftMade ? -1 : 1;
  return left.at - right.at;
}

function pointName(point: Pick<StatePoint, "run_id" | "position"> | null): string {
  return `${point?.run_id} ${point?.position}`;
}

/** Where the event that commits a capture is. */
interface CapturePlace extends Pick<StatePoint, "run_id" | "position"> {
  /** The version of the state after it. Null: the event does not contain it. */
  readonly version: number | null;
}

const NO_CALL = { tool: null, call_id: null } as const;

/** The length of a summary. */
const SUMMARY_MAX = 200;

function summaryOf(event: Event): string | null {
  const text =
    event.type === "step.succeeded"
      ? JSON.stringify(event.output)
      : event.type === "step.failed"
        ? event.fault.message
        : null;
  return text !== null && text.length > SUMMARY_MAX ? `${text.slice(0, SUMMARY_MAX)}…` : text;
}

function tagsOf(output: Json): Snapshot["tags"] {
  return isJsonObject(output) && isJsonObject(output.tags) ? (output.tags as Snapshot["tags"]) : {};
}

class CheckpointReader {
  readonly #ports: WorkerPorts;
  readonly #tenant: Tenant;
  /** A principal that may see only parts of the state is shown no outputs. */
  readonly #seesOutputs: boolean;
  readonly #pages: EventPageCache;
  readonly #accepted: RunAcceptedEvents;
  readonly #runs = new Map<RunId, Run | null>();

  constructor(ports: WorkerPorts, principal: Principal) {
    const { tenant } = principal;
    this.#ports = ports;
    this.#tenant = tenant;
    this.#seesOutputs = stateBounds(principal).length === 0;
    this.#pages = new EventPageCache(ports.store, tenant);
    this.#accepted = new RunAcceptedEvents(ports.store, tenant);
  }

  async viewVersion({ version, point }: StateVersion): Promise<CheckpointView> {
    const event = point && (await this.#pages.eventAt(point));
    if (point === null || event === null) throw checkpointNotFound(`version ${version} of the state`);
    return this.#view(point.run_id, event, version);
  }

  /** Returns the calls and restores that changed files of runs with this state, except the known ones. */
  async viewFiles(project: VersionedState, known: ReadonlySet<string>): Promise<readonly CheckpointView[]> {
    const views = new Map<string, CheckpointView>();
    for (const [, resource] of this.#ports.resources.byName) {
      const { captures } = await resource.kept();
      for (const capture of captures) {
        const place = await this.#findPlace(project, capture);
        if (place === null || known.has(pointName(place)) || views.has(pointName(place))) continue;
        const event = await this.#pages.eventAt({ ...place, commit: "" });
        if (event === null || ("state" in event && event.state !== undefined)) continue;
        const version = place.version ?? latestVersionBefore(project, place, event);
        views.set(pointName(place), await this.#view(place.run_id, event, version));
      }
    }
    return [...views.values()];
  }

  /** Returns the snapshots taken by hand, or all calls that ended, of the latest runs with this state. */
  async viewCalls(
    project: VersionedState,
    of: StateSelector,
    which: "snapshots" | "all",
  ): Promise<readonly CheckpointView[]> {
    const views: CheckpointView[] = [];
    for (const id of await this.#latestRuns(of, which)) {
      const run = await this.#run(id);
      if (run === null || runStateKey(run) !== project.key) continue;
      for (const step of run.steps) {
        const view = which === "all" || takenSnapshot(step) !== null ? await this.#viewStep(run, step) : null;
        if (view !== null) views.push(view);
        if (views.length >= this.#ports.limits.checkpoints) return views;
      }
    }
    return views;
  }

  async #latestRuns(of: StateSelector, which: "snapshots" | "all"): Promise<readonly RunId[]> {
    if ("runId" in of) return [of.runId as RunId];
    const { project, session } = of;
    const tags = [
      rowTag("project", project),
      ...(session === undefined ? [] : [rowTag("session", session)]),
      ...(which === "all" ? [] : [rowTag("tools", snapshotVerbs.take)]),
    ];
    const { checkpoints: limit } = this.#ports.limits;
    const search = { table: "run", tags, order: "newest", limit } as const;
    const { rows } = await this.#ports.store.search(this.#tenant, search);
    return rows.map(({ row }) => (JSON.parse(row) as RunRow).run_id);
  }

  /** Null: the call has not ended, its event is erased, or its version of the state is not known. */
  async #viewStep({ id }: Run, { checkpoint, standing }: Step): Promise<CheckpointView | null> {
    if (checkpoint === null || !["succeeded", "failed_final", "skipped"].includes(standing.state)) return null;
    const after = checkpoint.after ?? (this.#ports.slices.length === 0 ? 0 : null);
    const event = await this.#pages.eventAt({ run_id: id, position: checkpoint.position, commit: "" });
    return after === null || event === null || !("attempt" in event) ? null : this.#view(id, event, after);
  }

  async #view(run_id: RunId, event: Event, version: number): Promise<CheckpointView> {
    const isCall = "attempt" in event;
    const step_id: StepId | null = isCall ? event.step_id : null;
    const names = step_id === null ? NO_CALL : await this.#nameCall(run_id, step_id);
    const moment = (side: "before" | "after") =>
      step_id === null ? null : snapshotId({ runId: run_id, stepId: step_id, side });
    return {
      version,
      run_id,
      step_id,
      attempt: isCall ? event.attempt : null,
      ...names,
      type: event.type,
      at: event.at,
      elapsed_ms: "started_at" in event ? event.at - event.started_at : 0,
      success: event.type !== "step.failed",
      summary: this.#seesOutputs ? summaryOf(event) : null,
      tags: names.tool === snapshotVerbs.take && event.type === "step.succeeded" ? tagsOf(event.output) : {},
      before: moment("before"),
      after: moment("after"),
      changes: "state" in event ? (event.state?.patch.length ?? 0) : 0,
      files: changedPaths(event),
    };
  }

  /** The plan of a run names its calls. Other calls are named by the events of the run. */
  async #nameCall(run_id: RunId, step_id: StepId): Promise<Pick<CheckpointView, "tool" | "call_id">> {
    const accepted = await this.#accepted.read(run_id);
    const tool = plannedTool(accepted, step_id);
    if (tool !== null) return { tool, call_id: accepted?.request?.key ?? null };
    const run = await this.#run(run_id);
    const step = run === null ? undefined : findStep(run, step_id);
    const cause = step?.cause ?? null;
    return { tool: step?.spec.name ?? null, call_id: cause?.by === "agent" ? (cause.call?.id ?? null) : null };
  }

  /** Returns the event that commits the capture. Null: it belongs to another state, or its event is erased. */
  async #findPlace(project: VersionedState, capture: Capture): Promise<CapturePlace | null> {
    const owner = readCaptureTag(capture);
    if (owner === null || owner.tenant !== this.#tenant) return null;
    const run = await this.#run(owner.run_id);
    if (run === null || runStateKey(run) !== project.key) return null;
    if (owner.for === "fork") return { run_id: owner.into, position: 1, version: null };
    if (owner.for === "restore") return this.#findRestore(owner, capture);
    const checkpoint = findStep(run, owner.step_id)?.checkpoint;
    if (!checkpoint?.captures.some(({ id }) => id === capture.id)) return null;
    return { run_id: run.id, position: checkpoint.position, version: checkpoint.after };
  }

  async #findRestore({ run_id, position: before }: CaptureOwner, { id }: Capture): Promise<CapturePlace | null> {
    const last = this.#runs.get(run_id)?.position ?? before;
    for (let position = before + 1; position <= last; position += 1) {
      const event = await this.#pages.eventAt({ run_id, position, commit: "" });
      if (event?.type === "state.restored" && event.captures?.some((capture) => capture.id === id))
        return { run_id, position, version: null };
    }
    return null;
  }

  async #run(id: RunId): Promise<Run | null> {
    const known = this.#runs.get(id);
    if (known !== undefined) return known;
    // Retention may have erased the run.
    const found = await loadRun(this.#ports.store, this.#tenant, id).then(
      ({ run }) => run,
      () => null,
    );
    this.#runs.set(id, found);
    return found;
  }
}

/** Compares events of one run by their positions, and events of other runs by time. */
function latestVersionBefore(project: VersionedState, { run_id, position }: CapturePlace, { at }: Event): number {
  const versions = project.recentVersions(Number.MAX_SAFE_INTEGER);
  const isEarlier = (one: StateVersion) =>
    one.point?.run_id === run_id ? one.point.position < position : one.at <= at;
  return versions.findLast(isEarlier)?.version ?? 0;
}

function changedPaths(event: Event): number {
  const closings = event.type === "run.accepted" ? event.forked?.closings : "closings" in event ? event.closings : [];
  return (closings ?? []).reduce((sum, { changed }) => sum + changed, 0);
}
