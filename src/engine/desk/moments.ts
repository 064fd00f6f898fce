import { FaultError, fault } from "../../core/fault.ts";
import type { Instant, RunId, Tenant } from "../../core/id.ts";
import type { Capture, Moment, Resource, ResourceChange } from "../../core/resource.ts";
import { findStep, type Run, type Step, stateKeyOf } from "../../core/run.ts";
import type { Ports } from "../ports.ts";
import { eventAt, load } from "../record/load.ts";
import { type Owner, ownerOf } from "./capture-tag.ts";

/** A call that somebody wants to go back to. */
export interface Target {
  readonly run: Run;
  readonly step: Step;
  readonly side: "before" | "after";
}

/** What calls changed in resources, by the names that tools have for them, between two of them. */
export async function filesBetween(
  ports: Ports,
  from: Target,
  to: Target,
): Promise<Readonly<Record<string, readonly ResourceChange[]>>> {
  const files: Record<string, readonly ResourceChange[]> = {};
  const [early, late] = [new Moments(ports, from), new Moments(ports, to)];
  for (const [name, resource] of ports.resources.byName) {
    const changes = await resource.diff((await early.in(resource)) ?? "now", (await late.in(resource)) ?? "now");
    if (changes.length > 0) files[name] = changes;
  }
  return files;
}

/** Finds where a call is in what is kept of resources. A call that changed none of them is between those that did. */
export class Moments {
  readonly #ports: Ports;
  readonly #target: Target;
  readonly #runs = new Map<RunId, Run | null>();

  constructor(ports: Ports, target: Target) {
    this.#ports = ports;
    this.#target = target;
    this.#runs.set(target.run.id, target.run);
  }

  /** Null: nothing came after it, so that it is now as it was then. */
  async in(resource: Resource): Promise<Moment | null> {
    const { captures, isComplete } = await resource.kept();
    this.#mustBeKept(resource, captures);
    const first = await this.#first(resource, captures);
    const capture = captures[first];
    if (capture === undefined) {
      if (captures.length === 0 && !isComplete) throw this.#gone(resource);
      return null;
    }
    // What came before the oldest may have come after the call, too.
    if (first === 0 && !isComplete && !this.#isOwn(capture)) throw this.#gone(resource);
    for (const later of captures.slice(first)) await this.#mustBeOurs(resource, later);
    return { capture, side: "before" };
  }

  /** The first that is to be undone. */
  async #first(resource: Resource, captures: readonly Capture[]): Promise<number> {
    const own = captures.findIndex((capture) => this.#isOwn(capture));
    if (own >= 0) return this.#target.side === "before" ? own : own + 1;
    const at = await this.#endedAt();
    for (const [index, capture] of captures.entries()) {
      const owner = ownerOf(capture);
      if (owner === null || owner.tenant !== this.#target.run.tenant) throw blocked(resource, capture);
      if (await this.#isLater(owner, at)) return index;
    }
    return captures.length;
  }

  #isOwn({ id }: Capture): boolean {
    return this.#target.step.checkpoint?.captures.some((own) => own.id === id) === true;
  }

  /** Every call of the run that came after it, and changed the resource, can be gone back over. */
  #mustBeKept({ name }: Resource, captures: readonly Capture[]): void {
    const { run, side } = this.#target;
    const from = this.#position + (side === "before" ? 0 : 1);
    const kept = new Set(captures.map(({ id }) => id));
    for (const { checkpoint } of run.steps)
      for (const { resource, id } of checkpoint !== null && checkpoint.position >= from ? checkpoint.captures : [])
        if (resource === name && !kept.has(id)) throw this.#gone({ name });
  }

  get #position(): number {
    return this.#target.step.checkpoint?.position ?? 0;
  }

  async #endedAt(): Promise<Instant> {
    const { run } = this.#target;
    const event = await eventAt(this.#ports.store, run.tenant, run.id, this.#position);
    return event?.at ?? (0 as Instant);
  }

  /** In one run by its journal; elsewhere by the versions of state that it saw, or else by the clock. */
  async #isLater(owner: Owner, at: Instant): Promise<boolean> {
    const other = await this.#run(owner.tenant, owner.run_id);
    const theirs = owner.for === "call" && other !== null ? (findStep(other, owner.step_id)?.checkpoint ?? null) : null;
    if (owner.run_id === this.#target.run.id) return (theirs?.position ?? owner.position + 1) > this.#position;
    const ours = this.#target.step.checkpoint;
    if (theirs === null || ours === null) return owner.at > at;
    const [isAfter, isBefore] = [theirs.before >= ours.after, theirs.after <= ours.before];
    return isAfter === isBefore ? owner.at > at : isAfter;
  }

  /** Only calls on the same state, and of the same origin, are undone together. */
  async #mustBeOurs(resource: Resource, capture: Capture): Promise<void> {
    const { run } = this.#target;
    const owner = ownerOf(capture);
    const other = owner === null || owner.tenant !== run.tenant ? null : await this.#run(owner.tenant, owner.run_id);
    if (other === null || (other.origin !== run.origin && stateKeyOf(other) !== stateKeyOf(run)))
      throw blocked(resource, capture);
  }

  async #run(tenant: Tenant, id: RunId): Promise<Run | null> {
    const known = this.#runs.get(id);
    if (known !== undefined) return known;
    const found = await load(this.#ports.store, tenant, id).then(
      ({ run }) => run,
      () => null,
    );
    this.#runs.set(id, found);
    return found;
  }

  #gone({ name }: Pick<Resource, "name">): FaultError {
    const { run, step, side } = this.#target;
    const message = `${name} is not kept from ${side} ${step.spec.step_id} of run ${run.id}; go back to a later call`;
    return new FaultError(fault("CHECKPOINT_NOT_FOUND", message));
  }
}

function blocked({ name }: Resource, { tag }: Capture): FaultError {
  const message = `${name} was changed since by ${tag}, which is not undone with this; go back over that first`;
  return new FaultError(fault("RESTORE_BLOCKED", message));
}
