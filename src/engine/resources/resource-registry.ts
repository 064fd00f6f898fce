import type {
  Access,
  Capture,
  Resource,
  ResourceClosing,
  ResourceMoment,
  RestoreReport,
} from "../../core/ports/resource.ts";
import { LEFT_PLACES_MAX, type LeftPlace, type RevertReport } from "../../core/ports/revert-report.ts";
import type { Run } from "../../core/run/run.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import { faultOfThrown } from "../ports/thrown-fault.ts";
import type { CaptureStatus } from "./capture-owner.ts";

/** The resources of an engine, by the name that tools use. Calls that share a resource run one after the other. */
export class ResourceRegistry {
  readonly #known: ReadonlyMap<string, Resource>;
  readonly #readStatus: (capture: Capture) => Promise<CaptureStatus>;
  readonly #turns = new Map<string, Promise<void>>();

  constructor(known: Readonly<Record<string, Resource>>, readStatus: (capture: Capture) => Promise<CaptureStatus>) {
    this.#known = new Map(Object.entries(known));
    this.#readStatus = readStatus;
  }

  /** Sorted, so that two calls never wait for each other. */
  get byName(): readonly (readonly [string, Resource])[] {
    return [...this.#known].sort(([left], [right]) => (left < right ? -1 : 1));
  }

  /**
   * Captures every resource, and restores the ones for which `find` returns an earlier moment. The caller records the
   * restore and then releases the resources; until then no other call can change them.
   */
  async rewind(find: (resource: Resource) => Promise<ResourceMoment | null>, tag: string): Promise<RewoundResources> {
    const captured = new CapturedResources();
    try {
      for (const [name, resource] of this.byName) {
        captured.onRelease(await this.#waitForTurn(resource.name));
        // A crash can have left a committed capture unfinished; it must be settled to be restorable.
        await this.#settleLeftover(resource);
        const { captures } = await resource.kept();
        const moment = await find(resource);
        const capture = await this.#captureOne(resource, tag, rewindAccess(moment, captures));
        if (moment === null) captured.addUnchanged(resource, capture);
        else captured.add(name, resource, capture);
        const now = await resource.kept();
        if (captures.at(-1)?.id !== now.captures.at(-1)?.id) throw new FaultError(resourceChangedFault(resource));
        if (moment !== null) await resource.rewind(capture, moment);
      }
      return { captured, closings: await captured.close() };
    } catch (error) {
      await captured.release();
      throw error;
    }
  }

  /**
   * Settles what crashed processes left, before any call. If that fails, the next call on the resource gets the fault.
   */
  async settleAll(): Promise<void> {
    for (const resource of this.#known.values()) {
      const done = await this.#waitForTurn(resource.name);
      await this.#settleLeftover(resource).catch(() => {});
      done();
    }
  }

  /** Returns why a tool cannot be called here by a run that is bound to these hosts, or null. */
  mismatch({ name, resources }: Pick<Tool, "name" | "resources">, bound: Run["bound"]): Fault | null {
    for (const needed of Object.keys(resources)) {
      const resource = this.#known.get(needed);
      const host = resource !== undefined && Object.hasOwn(bound, resource.name) ? bound[resource.name] : undefined;
      if (resource === undefined)
        return fault(
          "RESOURCE_ELSEWHERE",
          `${name} changes ${needed}, which this engine does not have; pass it to createEngine`,
        );
      if (host !== undefined && host !== resource.host)
        return fault(
          "RESOURCE_ELSEWHERE",
          `${needed} of this run is on ${host}; only a worker on that host can continue the run`,
        );
    }
    return null;
  }

  /** Returns the resources of these captures, by the names that tools use, with the access that undoing them needs. */
  accessTo(captures: readonly Capture[]): Tool["resources"] {
    const found: Record<string, "handle" | "raw"> = {};
    for (const [name, resource] of this.byName) {
      const own = captures.filter(({ resource: changed }) => changed === resource.name);
      if (own.length > 0) found[name] = own.some(({ access }) => access === "raw") ? "raw" : "handle";
    }
    return found;
  }

  /** Returns why this engine cannot undo these captures: it does not have one of their resources. Null: it has all. */
  missingFor(captures: readonly Capture[]): Fault | null {
    const known = new Set([...this.#known.values()].map(({ name }) => name));
    const missing = captures.find(({ resource }) => !known.has(resource));
    if (missing === undefined) return null;
    const message = `the plan changed ${missing.resource}, which this engine does not have; pass it to createEngine`;
    return fault("RESOURCE_ELSEWHERE", message);
  }

  /** Waits for the resources of a call and captures them. Rejects with the fault if a resource cannot be captured. */
  async capture({ resources }: Pick<Tool, "resources">, tag: string): Promise<CapturedResources> {
    // Sorted, so that two calls never wait for each other.
    const names = Object.keys(resources).sort();
    const captured = new CapturedResources();
    try {
      for (const name of names) {
        const resource = this.#known.get(name) as Resource;
        captured.onRelease(await this.#waitForTurn(resource.name));
        captured.add(name, resource, await this.#captureOne(resource, tag, resources[name] ?? "raw"));
      }
      await captured.open();
      return captured;
    } catch (error) {
      await captured.release();
      throw error;
    }
  }

  /** Returns digests of the resources of a tool. `captured`: the caller has captured them, so it does not wait. */
  async readDigests(
    { resources }: Pick<Tool, "resources">,
    access: "waits" | "captured",
  ): Promise<Record<string, Digest>> {
    const found: Record<string, Digest> = {};
    for (const name of Object.keys(resources).sort()) {
      const resource = this.#known.get(name) as Resource;
      const done = access === "waits" ? await this.#waitForTurn(resource.name) : () => {};
      try {
        found[name] = await resource.digest();
      } finally {
        done();
      }
    }
    return found;
  }

  /**
   * Restores resources that a call of a lost worker had changed. The captures stay until `release`, so that a process
   * that finds the restore unrecorded repeats it.
   */
  async restore(captures: readonly Capture[]): Promise<readonly RestoreReport[]> {
    const reports: RestoreReport[] = [];
    for (const capture of captures.toReversed())
      reports.unshift(await this.#withOwner(capture, (resource) => resource.restore(capture)));
    return reports;
  }

  /** Deletes the captures of a call whose restore is recorded. */
  async release(captures: readonly Capture[]): Promise<void> {
    for (const capture of captures.toReversed())
      await this.#withOwner(capture, (resource) => resource.release(capture)).catch(() => {});
  }

  /** Calls `work` with the resource that made the capture. */
  async #withOwner<Answer>(capture: Capture, work: (resource: Resource) => Promise<Answer>): Promise<Answer> {
    const resource = [...this.#known.values()].find(({ name }) => name === capture.resource);
    if (resource === undefined || resource.host !== capture.host) {
      const host = capture.host ?? "another worker";
      const message = `${capture.resource} was changed on ${host} and must be restored there`;
      throw new FaultError(fault("RESOURCE_ELSEWHERE", message));
    }
    const done = await this.#waitForTurn(resource.name);
    try {
      return await work(resource);
    } finally {
      done();
    }
  }

  async #captureOne(resource: Resource, tag: string, access: Access): Promise<Capture> {
    try {
      return await resource.capture(tag, access);
    } catch (error) {
      if (faultOfThrown(error).code !== "RESOURCE_BUSY" || !(await this.#settleForNextCall(resource))) throw error;
      return resource.capture(tag, access);
    }
  }

  /** Settles a leftover for the next call. If that fails, the call is not at fault: it gets RESOURCE_BUSY and waits. */
  async #settleForNextCall(resource: Resource): Promise<boolean> {
    try {
      return await this.#settleLeftover(resource);
    } catch (error) {
      const { code, message } = faultOfThrown(error);
      if (code === "RESOURCE_BUSY") throw error;
      const why = `${resource.name} is in use: an earlier call cannot be restored yet (${code}: ${message})`;
      throw new FaultError(fault("RESOURCE_BUSY", why), { cause: error });
    }
  }

  /** Restores a resource that a crashed call left, unless the call is committed. Returns whether one had left it. */
  async #settleLeftover(resource: Resource): Promise<boolean> {
    const left = await resource.left();
    if (left === null) return false;
    const { capture, isClosed } = left;
    const status = await this.#readStatus(capture);
    if (status === "committed") {
      await resource.keep(capture);
      return true;
    }
    if (status === "unknown" && isClosed) throw new FaultError(unknownOwnerFault(resource, capture));
    await resource.restore(capture);
    // Otherwise the worker that takes over the run restores once more, records the report and releases the capture.
    if (status === "discarded") await resource.release(capture);
    return true;
  }

  async #waitForTurn(name: string): Promise<() => void> {
    const before = this.#turns.get(name) ?? Promise.resolve();
    let done = () => {};
    const mine = new Promise<void>((resolve) => {
      done = resolve;
    });
    this.#turns.set(
      name,
      before.then(() => mine),
    );
    await before;
    return done;
  }
}

/** Resources that were restored to an earlier moment. They stay captured until the restore is recorded. */
export interface RewoundResources {
  readonly captured: CapturedResources;
  readonly closings: readonly ResourceClosing[];
}

/** The resources that one call has captured. */
export class CapturedResources {
  readonly #parts: { readonly name: string; readonly resource: Resource; readonly capture: Capture }[] = [];
  /** Resources that are captured only so that no other call changes them. */
  readonly #unchanged: { readonly resource: Resource; readonly capture: Capture }[] = [];
  readonly #handles = new Map<string, unknown>();
  readonly #onRelease: (() => void)[] = [];
  #state: "open" | "closed" | "committed" | "restored" = "open";
  /** True while the journal says that the captures are neither kept nor restored. */
  #isOnRecord = false;

  add(name: string, resource: Resource, capture: Capture): void {
    this.#parts.push({ name, resource, capture });
  }

  addUnchanged(resource: Resource, capture: Capture): void {
    this.#unchanged.push({ resource, capture });
  }

  onRelease(callback: () => void): void {
    this.#onRelease.push(callback);
  }

  get captures(): readonly Capture[] {
    return this.#parts.map(({ capture }) => capture);
  }

  /** By the names that the tool uses. */
  get resources(): Readonly<Record<string, Resource>> {
    return Object.fromEntries(this.#parts.map(({ name, resource }) => [name, resource]));
  }

  async open(): Promise<void> {
    for (const { name, resource, capture } of this.#parts) this.#handles.set(name, await resource.open(capture));
  }

  handle(name: string): unknown {
    if (this.#handles.has(name)) return this.#handles.get(name);
    throw new FaultError(fault("STATE_FORBIDDEN", `the tool has not declared the resource ${name}`));
  }

  /** Closes the resources after the handler succeeded. Rejects if one is still being changed: the call then fails. */
  async close(): Promise<readonly ResourceClosing[]> {
    const closings: ResourceClosing[] = [];
    for (const { resource, capture } of this.#parts) closings.push(await resource.close(capture));
    this.#state = "closed";
    return closings;
  }

  /** Puts back what earlier calls wrote and nothing else has changed since, as changes of this call. */
  async revert(calls: readonly Capture[]): Promise<RevertReport> {
    let [restored, left] = [0, 0];
    const places: LeftPlace[] = [];
    for (const { resource, capture } of this.#parts) {
      const own = calls.filter(({ resource: changed }) => changed === resource.name);
      const found = await resource.revert(capture, own);
      restored += found.restored;
      left += found.left;
      places.push(...found.places.slice(0, LEFT_PLACES_MAX - places.length));
    }
    return { restored, left, places };
  }

  async restore(): Promise<readonly RestoreReport[]> {
    const reports: RestoreReport[] = [];
    for (const { resource, capture } of this.#parts.toReversed()) reports.unshift(await resource.restore(capture));
    this.#state = "restored";
    return reports;
  }

  /** Called when the start of the call is recorded with these captures, and when their restore is. */
  markOnRecord(isOnRecord: boolean): void {
    this.#isOnRecord = isOnRecord;
  }

  /** Called when the success is recorded. */
  markSucceeded(): void {
    this.#state = "committed";
  }

  /**
   * Lets the next call have the resources. Restores them if they were never closed. If they were closed and the success
   * is not known to be recorded, leaves them as they are: the next call reads from the journal whether it is. A capture
   * that the journal calls open also stays: the worker that continues the run records its restore.
   */
  async release(): Promise<void> {
    try {
      if (this.#state === "open") await this.restore();
    } catch {
      // The next call restores what cannot be restored now.
    }
    const endings = [
      ...this.#parts.map(({ resource, capture }) => ({ resource, capture, end: () => this.#end(resource, capture) })),
      ...this.#unchanged.map(({ resource, capture }) => ({ resource, capture, end: () => resource.release(capture) })),
    ];
    for (const { resource, capture, end } of endings) {
      // If keeping or releasing fails, leave the capture: the next call settles it by the journal.
      await end()
        .catch(() => resource.leave(capture))
        .catch(() => {});
    }
    for (const callback of this.#onRelease.splice(0)) callback();
  }

  #end(resource: Resource, capture: Capture): Promise<void> {
    if (this.#state === "committed") return resource.keep(capture);
    return this.#state === "restored" && !this.#isOnRecord ? resource.release(capture) : resource.leave(capture);
  }
}

/** Undoing a call that had raw access needs raw access. */
function rewindAccess(moment: ResourceMoment | null, captures: readonly Capture[]): Access {
  const from = captures.findIndex(({ id }) => id === moment?.capture.id);
  return from >= 0 && captures.slice(from).some(({ access }) => access !== "handle") ? "raw" : "handle";
}

function resourceChangedFault({ name }: Resource): Fault {
  return fault("RESOURCE_BUSY", `${name} was changed by another process during the restore; try again`);
}

function unknownOwnerFault({ name }: Resource, { tag }: Capture): Fault {
  const message = `${name} was left by ${tag}, which is not in this store; open an engine on the store that has it`;
  return fault("RESOURCE_BUSY", message);
}
