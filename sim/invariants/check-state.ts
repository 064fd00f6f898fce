import type { Event } from "../../src/core/event/event.ts";
import { stateTools } from "../../src/core/plan/plan-context.ts";
import { findStep, type Run, type Step } from "../../src/core/run/run.ts";
import type { StateChange } from "../../src/core/state/state-change.ts";
import type { StatePoint } from "../../src/core/store/tables.ts";
import type { Tenant } from "../../src/core/values/ids.ts";
import type { Json, JsonObject } from "../../src/core/values/json.ts";
import { createEngine } from "../../src/engine/engine.ts";
import type { ObservedEvent } from "../journal-observer.ts";
import type { SimContext } from "../sim-context.ts";
import { expectedRead, readStateModel, simSlices, toStateOperation } from "../sim-state-tools.ts";
import {
  applyOperations,
  applyPatchToModel,
  EMPTY_STATE_MODEL,
  formatStateModel,
  logOperations,
  type StateModel,
  type StateOperation,
} from "../state-model.ts";
import type { ModelVersion } from "../state-versions.ts";

/**
 * I20: state equals the effect of the successful calls in the order of their versions; a failed call leaves only its
 * log entries. I21: every commit is one version on top of the previous one, and none is missing.
 */
export function checkState(observedEvent: ObservedEvent): void {
  const { sim, event } = observedEvent;
  if (!sim.config.usesState) return;
  const change = "state" in event ? event.state : undefined;
  if (change !== undefined) checkCommit(observedEvent, change);
  else if (event.type === "step.succeeded") checkUnchanged(observedEvent, event);
  else if (event.type === "step.failed") checkLogsKept(observedEvent, event);
}

type EndEvent = Extract<Event, { type: "step.succeeded" | "step.failed" }>;

/** Returns the key of the state of a run, as the design defines it. */
export function stateKey({ id, project, origin, forked }: Run): string {
  if (forked !== null) return `run:${id}`;
  return project === null ? `run:${origin}` : `project:${project}`;
}

/** Returns the initial state of a run: empty, or the state at the point of its fork. */
function initialVersion({ stateVersions }: SimContext, run: Run): ModelVersion {
  const from = run.forked?.state ?? null;
  return {
    version: 0,
    point: from,
    model: (from && stateVersions.findByCommit(from.commit)?.model) ?? EMPTY_STATE_MODEL,
  };
}

function checkCommit({ sim, before, event, after: now }: ObservedEvent, change: StateChange): void {
  const { stateVersions, counts, violate } = sim;
  const where = `${before.id} at ${now.position} (${event.type})`;
  if (change.project !== stateKey(now)) violate(`I20: ${where} changed ${change.project} instead of ${stateKey(now)}`);
  const last = stateVersions.latest(now.tenant, change.project) ?? initialVersion(sim, now);
  if (change.version !== last.version + 1)
    violate(`I21: ${where} made version ${change.version} of ${change.project} after version ${last.version}`);
  if (!samePoint(change.upon, last.point)) violate(`I21: ${where} is not based on the previous version`);
  const model = applyPatchToModel(last.model, change.patch);
  const wrong = changeProblem(sim, now, event, last, model);
  if (wrong !== null) violate(`I20: ${where} ${wrong}: ${formatStateModel(last.model)} → ${formatStateModel(model)}`);
  if ("base" in event && (event.base ?? 0) < last.version && event.type === "step.succeeded") counts.rebases += 1;
  counts.commits += 1;
  const point = { run_id: now.id, position: now.position, commit: change.commit };
  stateVersions.add(now.tenant, change.project, { version: change.version, point, model });
}

function samePoint(left: StatePoint | null, right: StatePoint | null): boolean {
  return left?.commit === right?.commit && left?.run_id === right?.run_id && left?.position === right?.position;
}

function changeProblem(sim: SimContext, run: Run, event: Event, last: ModelVersion, model: StateModel): string | null {
  if (event.type === "state.restored") return restoreProblem(sim, run, event.to, last, model);
  if (event.type !== "step.succeeded" && event.type !== "step.failed") return "cannot change state, but did";
  if (event.type === "step.failed" && event.fault.code === "STATE_CONFLICT" && event.retry_at !== null)
    return "changed state, though it conflicted and is retried";
  const operations = operationsOf(sim, run, event);
  const results = operations.map((operations) =>
    applyOperations(last.model, event.type === "step.failed" ? logOperations(operations) : operations),
  );
  const same = results.some((each) => each !== null && formatStateModel(each) === formatStateModel(model));
  return same ? null : `is not what its operations make of the previous version (${JSON.stringify(operations)})`;
}

/** A restored state equals the earlier version, except for its logs. */
function restoreProblem(sim: SimContext, run: Run, to: number, last: ModelVersion, model: StateModel): string | null {
  sim.counts.restores += 1;
  const then = findStateVersion(sim, run, to);
  if (then === null) return `restored version ${to}, which does not exist`;
  const same = formatStateModel({ ...then.model, diary: last.model.diary }) === formatStateModel(model);
  return same ? null : `did not restore the state of version ${to}`;
}

export function findStateVersion(sim: SimContext, run: Run, version: number): ModelVersion | null {
  return version === 0 ? initialVersion(sim, run) : sim.stateVersions.find(run.tenant, stateKey(run), version);
}

/** Returns the operations of each worker that made the call; a worker that lost the run may have made it too. */
function operationsOf(
  { stateVersions }: SimContext,
  run: Run,
  { step_id, attempt }: EndEvent,
): readonly (readonly StateOperation[])[] {
  const step = findStep(run, step_id) as Step;
  if (step.spec.name === stateTools.state_write) return [[toStateOperation(step.spec.payload as JsonObject)]];
  return stateVersions.operationsOf(run.id, step_id, attempt);
}

/** A call without a commit changed nothing, and its reads match the version it worked on. */
function checkUnchanged(
  { sim, after: run }: ObservedEvent,
  event: Extract<EndEvent, { type: "step.succeeded" }>,
): void {
  const { base, reused, step_id, attempt } = event;
  if (base === undefined || reused !== undefined) return;
  const baseVersion = findStateVersion(sim, run, base);
  const where = `${run.id} ${step_id}.${attempt}`;
  if (baseVersion === null) {
    sim.violate(`I21: ${where} worked on version ${base} of ${stateKey(run)}, which does not exist`);
    return;
  }
  const { spec } = findStep(run, step_id) as Step;
  if (spec.name === stateTools.state_read) {
    sim.counts.stateReads += 1;
    const found = expectedRead(baseVersion.model, spec.payload as JsonObject) as Json;
    if (JSON.stringify(found) !== JSON.stringify(event.output))
      sim.violate(`I20: ${where} read ${JSON.stringify(event.output)} instead of ${JSON.stringify(found)}`);
    return;
  }
  const operations = operationsOf(sim, run, event);
  const changesNothing = (operations: readonly StateOperation[]) => {
    const model = applyOperations(baseVersion.model, operations);
    return model !== null && formatStateModel(model) === formatStateModel(baseVersion.model);
  };
  if (operations.length > 0 && !operations.some(changesNothing))
    sim.violate(`I20: ${where} succeeded, but its writes are not in the state: ${JSON.stringify(operations)}`);
}

/** The log entries of a failed call are stored, unless it conflicted and is retried. */
function checkLogsKept({ sim, after: run }: ObservedEvent, event: Extract<EndEvent, { type: "step.failed" }>): void {
  const { base, fault, retry_at, step_id, attempt } = event;
  if (base === undefined || (fault.code === "STATE_CONFLICT" && retry_at !== null)) return;
  const operations = operationsOf(sim, run, event);
  if (operations.length > 0 && operations.every((operations) => logOperations(operations).length > 0))
    sim.violate(`I20: ${run.id} ${step_id}.${attempt} failed, and its log entries are lost`);
}

/** At the end: each stored state equals its latest version in the model. */
export async function checkStoredStates(sim: SimContext): Promise<void> {
  const { stateVersions, store, violate } = sim;
  if (!sim.config.usesState) return;
  const engine = await createEngine({
    store,
    slices: simSlices,
    tools: [],
    work: false,
    timers: { after: () => () => {} },
  });
  for (const { tenant, project, modelVersion } of stateVersions.all()) {
    const [, kind, name = ""] = /^(project|run):(.*)$/.exec(project) ?? [];
    const principal = { id: "archivist", kind: "person", tenant } as const;
    const { version, slice } = await engine.state({
      principal,
      ...(kind === "run" ? { runId: name } : { project: name }),
    });
    const text = formatStateModel(readStateModel(slice));
    if (version !== modelVersion.version || text !== formatStateModel(modelVersion.model))
      violate(
        `I20: ${project} of ${tenant} is ${text} at ${version} instead of ${formatStateModel(modelVersion.model)}`,
      );
  }
}

/** A returned view is a version that existed, and not older than the latest at the time of the request. */
export function checkStateView(
  { stateVersions, violate }: SimContext,
  tenant: Tenant,
  project: string,
  shown: Pick<ModelVersion, "version" | "model">,
  asked: number,
): void {
  if (shown.version < asked)
    violate(`I20: ${project} of ${tenant} was returned at version ${shown.version} after version ${asked}`);
  const model = shown.version === 0 ? EMPTY_STATE_MODEL : stateVersions.find(tenant, project, shown.version)?.model;
  if (model === undefined || formatStateModel(model) !== formatStateModel(shown.model))
    violate(
      `I20: ${project} of ${tenant} was returned as ${formatStateModel(shown.model)} at version ${shown.version}`,
    );
}
