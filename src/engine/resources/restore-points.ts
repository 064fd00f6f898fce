import type { Capture, Resource, ResourceDifference, ResourceMoment } from "../../core/ports/resource.ts";
import { findStep, type Run, runStateKey, type Step } from "../../core/run/run.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, RunId, Tenant } from "../../core/values/ids.ts";
import { loadEventAt, loadRun } from "../journal/load-run.ts";
import { type CaptureOwner, readCaptureTag } from "./capture-owner.ts";
import type { ResourceRestorePorts } from "./resource-restore-ports.ts";

/** A call, and the side of it to restore. */
export interface RestoreTarget {
  readonly run: Run;
  readonly step: Step;
  readonly side: "before" | "after";
}

/** Returns the changes in resources between two calls, by the names that tools use. */
export async function diffFiles(
  ports: ResourceRestorePorts,
  from: RestoreTarget,
  to: RestoreTarget,
): Promise<Readonly<Record<string, readonly ResourceDifference[]>>> {
  const files: Record<string, readonly ResourceDifference[]> = {};
  const [early, late] = [new RestorePoints(ports, from), new RestorePoints(ports, to)];
  for (const [name, resource] of ports.resources.byName) {
    const changes = await resource.diff((await early.find(resource)) ?? "now", (await late.find(resource)) ?? "now");
    if (changes.length > 0) files[name] = changes;
  }
  return files;
}

/** Finds the capture to restore for a call. A call that changed no resource lies between calls that did. */
export class RestorePoints {
  readonly #ports: ResourceRestorePorts;
  readonly #target: RestoreTarget;
  readonly #runs = new Map<RunId, Run | null>();

  constructor(ports: ResourceRestorePorts, target: RestoreTarget) {
    this.#ports = ports;
    this.#target = target;
    this.#runs.set(target.run.id, target.run);
  }

  /** Returns the moment to restore. Null: no later call changed the resource. */
  async find(resource: Resource): Promise<ResourceMoment | null> {
    const { captures, isComplete } = await resource.kept();
    this.#assertKept(resource, captures);
    const first = await this.#findFirstLater(resource, captures);
    const capture = captures[first];
    if (capture === undefined) {
      if (captures.length === 0 && !isComplete) throw this.#notKeptError(resource);
      return null;
    }
    // A dropped capture may also be later than the call.
    if (first === 0 && !isComplete && !this.#isOwn(capture)) throw this.#notKeptError(resource);
    for (const later of captures.slice(first)) await this.#assertUndoable(resource, later);
    return { capture, side: "before" };
  }

  /** Returns the index of the first capture to undo. */
  async #findFirstLater(resource: Resource, captures: readonly Capture[]): Promise<number> {
    const own = captures.findIndex((capture) => this.#isOwn(capture));
    if (own >= 0) return this.#target.side === "before" ? own : own + 1;
    const at = await this.#endedAt();
    for (const [index, capture] of captures.entries()) {
      const owner = readCaptureTag(capture);
      if (owner === null || owner.tenant !== this.#target.run.tenant) throw restoreBlockedError(resource, capture);
      if (await this.#isLater(owner, at)) return index;
    }
    return captures.length;
  }

  #isOwn({ id }: Capture): boolean {
    return this.#target.step.checkpoint?.captures.some((own) => own.id === id) === true;
  }

  /** Throws unless the captures of all later calls of the run are kept. */
  #assertKept({ name }: Resource, captures: readonly Capture[]): void {
    const { run, side } = this.#target;
    const from = this.#position + (side === "before" ? 0 : 1);
    const kept = new Set(captures.map(({ id }) => id));
    for (const { checkpoint } of run.steps)
      for (const { resource, id } of checkpoint !== null && checkpoint.position >= from ? checkpoint.captures : [])
        if (resource === name && !kept.has(id)) throw this.#notKeptError({ name });
  }

  get #position(): number {
    return this.#target.step.checkpoint?.position ?? 0;
  }

  async #endedAt(): Promise<Instant> {
    const { run } = this.#target;
    const event = await loadEventAt(this.#ports.store, run.tenant, run.id, this.#position);
    return event?.at ?? (0 as Instant);
  }

  /** Compares calls of one run by its journal, and calls of other runs by the versions of state or by time. */
  async #isLater(owner: CaptureOwner, at: Instant): Promise<boolean> {
    const other = await this.#run(owner.tenant, owner.run_id);
    const theirs = owner.for === "call" && other !== null ? (findStep(other, owner.step_id)?.checkpoint ?? null) : null;
    if (owner.run_id === this.#target.run.id) return (theirs?.position ?? owner.position + 1) > this.#position;
    const ours = this.#target.step.checkpoint;
    if (theirs?.before == null || theirs.after === null) return owner.at > at;
    if (ours?.before == null || ours.after === null) return owner.at > at;
    const [isAfter, isBefore] = [theirs.before >= ours.after, theirs.after <= ours.before];
    return isAfter === isBefore ? owner.at > at : isAfter;
  }

  /** Throws unless the capture belongs to a run with the same origin or state: only these are undone together. */
  async #assertUndoable(resource: Resource, capture: Capture): Promise<void> {
    const { run } = this.#target;
    const owner = readCaptureTag(capture);
    const other = owner === null || owner.tenant !== run.tenant ? null : await this.#run(owner.tenant, owner.run_id);
    if (other === null || (other.origin !== run.origin && runStateKey(other) !== runStateKey(run)))
      throw restoreBlockedError(resource, capture);
  }

  async #run(tenant: Tenant, id: RunId): Promise<Run | null> {
    const known = this.#runs.get(id);
    if (known !== undefined) return known;
    const found = await loadRun(this.#ports.store, tenant, id).then(
      ({ run }) => run,
      () => null,
    );
    this.#runs.set(id, found);
    return found;
  }

  #notKeptError({ name }: Pick<Resource, "name">): FaultError {
    const { run, step, side } = this.#target;
    const message = `${name} was not kept from ${side} ${step.spec.step_id} of run ${run.id}; restore a later call`;
    return new FaultError(fault("CHECKPOINT_NOT_FOUND", message));
  }
}

function restoreBlockedError({ name }: Resource, { tag }: Capture): FaultError {
  const message = `${name} was changed later by ${tag}, which this restore does not undo; restore that one first`;
  return new FaultError(fault("RESTORE_BLOCKED", message));
}
