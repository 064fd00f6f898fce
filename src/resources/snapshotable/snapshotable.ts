import { hash, randomUUID } from "node:crypto";
import { canonicalJson } from "../../core/json/canonical-json.ts";
import { checkJson, valueLimits } from "../../core/json/check-json.ts";
import type {
  AbandonedCapture,
  Access,
  Capture,
  KeptCaptures,
  Resource,
  ResourceClosing,
  ResourceContents,
  ResourceDifference,
  ResourceMoment,
  RestoreReport,
} from "../../core/ports/resource.ts";
import type { RevertReport } from "../../core/ports/revert-report.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import { isJsonObject, type Json, sameJson } from "../../core/values/json.ts";
import { changeReport } from "../change-report.ts";
import { fileLimits } from "../file-limits.ts";
import { machineIdentity } from "../host/machine-identity.ts";
import { TreeLock } from "../host/tree-lock.ts";
import { printablePath } from "../tree-path.ts";
import { type StateCapture, StateCaptures } from "./state-captures.ts";

export interface SnapshotableOptions<State, Handle> {
  /** Stable across restarts, and unique among the resources of an engine. */
  readonly name: string;
  /** Returns the state as JSON. */
  snapshot(): State | Promise<State>;
  /** Replaces the state. Called again after a crash, with the same state. */
  restore(state: State): void | Promise<void>;
  /** The handle that tools receive from `context.resource(name)`. Default: null. */
  readonly handle?: Handle;
  /**
   * The folder for captures, if the state outlives the process: the next process restores what a call of this one left.
   * Default: none, for state that ends with the process.
   */
  readonly store?: string;
  /** How many calls can be restored. */
  readonly keptCaptures?: number;
}

/** Makes a resource of two functions: any container of state that can be read and replaced as a whole. */
export function snapshotable<State, Handle = null>(options: SnapshotableOptions<State, Handle>): Resource<Handle> {
  return new SnapshotableResource(options as SnapshotableOptions<Json, Handle>);
}

class SnapshotableResource<Handle> implements Resource<Handle> {
  readonly name: string;
  readonly host: string | null;
  readonly contents: ResourceContents<Handle>;
  readonly #options: SnapshotableOptions<Json, Handle>;
  readonly #captures: StateCaptures;
  /** Null: only this process has the state. */
  readonly #lock: TreeLock | null;
  /** Ids of this process begin with it. */
  readonly #instanceId = randomUUID();
  #count = 0;
  /** The call that is open in this process. */
  #openId: string | null = null;

  constructor(options: SnapshotableOptions<Json, Handle>) {
    const { name, store } = options;
    this.#options = options;
    this.name = name;
    this.host = store === undefined ? null : machineIdentity();
    this.#captures = new StateCaptures(store ?? null);
    const onHeld = () => this.#captures.refresh();
    this.#lock = store === undefined ? null : new TreeLock({ root: name, store, onHeld });
    this.contents = {
      read: () => this.#read(),
      problem: () => null,
      replace: async (_handle, state) => options.restore(state),
    };
  }

  async capture(tag: string, access: Access): Promise<Capture> {
    if (access === "watched")
      throw new FaultError(fault("RESOURCE_UNFIT", `no other program can be watched while it changes ${this.name}`));
    await this.#lock?.take();
    try {
      this.#assertNoneUnfinished();
      this.#count += 1;
      const id = `${this.#instanceId}-${this.#count}`;
      const before = await this.#read();
      this.#captures.begin({ id, tag, access, before });
      this.#openId = id;
      return this.#toCapture(this.#find(id));
    } catch (error) {
      this.#lock?.release();
      throw error;
    }
  }

  async open(): Promise<Handle> {
    return (this.#options.handle ?? null) as Handle;
  }

  async close(capture: Capture): Promise<ResourceClosing> {
    const { before } = this.#find(capture.id);
    const state = await this.#read();
    this.#captures.change(capture.id, { status: "closed", after: { state } });
    return { digest: digestOf(state), ...changeReport(differences(before, state)) };
  }

  async keep(capture: Capture): Promise<void> {
    await this.#shared(() => {
      if (this.#find(capture.id).status === "closed")
        this.#captures.keep(capture.id, this.#options.keptCaptures ?? fileLimits.keptCaptures);
    });
    this.#end(capture.id);
  }

  async restore(capture: Capture): Promise<RestoreReport> {
    const isOpen = this.#openId === capture.id;
    // The state of another process ended with it.
    if (this.#lock === null && !capture.id.startsWith(this.#instanceId))
      return { outcome: "nothing", digest: null, changed: 0 };
    if (!isOpen) await this.#lock?.take();
    try {
      const found = this.#find(capture.id);
      const changed = found.status === "restored" ? found.changed : await this.#restoreSince(found);
      return { outcome: changed === 0 ? "nothing" : "restored", digest: digestOf(found.before), changed };
    } finally {
      if (!isOpen) this.#lock?.release();
    }
  }

  async release(capture: Capture): Promise<void> {
    await this.#shared(() => this.#captures.drop(capture.id));
    this.#end(capture.id);
  }

  async leave(capture: Capture): Promise<void> {
    this.#end(capture.id);
  }

  async kept(): Promise<KeptCaptures> {
    return this.#shared(() => {
      const kept = this.#captures.all.filter(({ status }) => status === "kept");
      return { captures: kept.map((each) => this.#toCapture(each)), isComplete: this.#captures.isComplete };
    });
  }

  async rewind(_capture: Capture, to: ResourceMoment): Promise<void> {
    await this.#assertAsLeft(this.#captures.all.filter(({ status }) => status === "kept").at(-1));
    await this.#options.restore(await this.#stateAt(to));
  }

  /** The state goes back as a whole, or stays as a whole if another call has changed it since. */
  async revert(capture: Capture, calls: readonly Capture[]): Promise<RevertReport> {
    const own = new Set(calls.map(({ id }) => id));
    const { captures } = await this.kept();
    const since = captures.slice(captures.findIndex(({ id }) => own.has(id)));
    const [first] = since;
    const leave = (why: string) => ({ restored: 0, left: 1, places: [{ path: "/", why }] });
    if (first === undefined || captures.filter(({ id }) => own.has(id)).length < own.size)
      return leave("the captures of its calls were dropped");
    if (!since.every(({ id }) => own.has(id))) return leave("another call has changed it since");
    await this.rewind(capture, { capture: first, side: "before" });
    return { restored: 1, left: 0, places: [] };
  }

  async left(): Promise<AbandonedCapture | null> {
    if (this.#openId !== null) return null;
    return this.#shared(() => {
      const found = this.#unfinished();
      return found === undefined ? null : { capture: this.#toCapture(found), isClosed: found.status === "closed" };
    });
  }

  async digest(): Promise<Digest> {
    return digestOf(await this.#read());
  }

  async revision(): Promise<string> {
    return `sha256:${await this.digest()}`;
  }

  async diff(from: ResourceMoment | "now", to: ResourceMoment | "now"): Promise<readonly ResourceDifference[]> {
    return differences(await this.#stateAt(from), await this.#stateAt(to));
  }

  /** Restores the state before a call, and marks it and all later ones as undone. */
  async #restoreSince(found: StateCapture): Promise<number> {
    const { all } = this.#captures;
    const undone = all.slice(all.indexOf(found));
    const changed = differences(found.before, await this.#read()).length;
    // Without a difference, an earlier attempt to restore has died after it.
    if (changed > 0 && found.status !== "open")
      await this.#assertAsLeft(undone.findLast(({ status }) => status !== "restored"));
    if (changed > 0) await this.#options.restore(found.before);
    for (const { id } of undone) this.#captures.change(id, { status: "restored", changed });
    return changed;
  }

  /** Throws if the state is not as its last call left it: a restore would also undo a change from elsewhere. */
  async #assertAsLeft(last: StateCapture | undefined): Promise<void> {
    if (last?.after == null || sameJson(await this.#read(), last.after.state)) return;
    const message = `${this.name} was changed after the call ${printablePath(last.tag)}; undo that change first`;
    throw new FaultError(fault("RESTORE_BLOCKED", message));
  }

  /** Returns the state before a call, or before the next one. */
  async #stateAt(moment: ResourceMoment | "now"): Promise<Json> {
    if (moment === "now") return this.#read();
    const found = this.#find(moment.capture.id);
    if (moment.side === "before") return found.before;
    return found.after === null ? this.#read() : found.after.state;
  }

  async #read(): Promise<Json> {
    const checked = checkJson(await this.#options.snapshot(), valueLimits);
    if (checked.ok) return checked.value;
    const reasons = checked.reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
    throw new FaultError(fault("RESOURCE_UNFIT", `the snapshot of ${this.name} is not JSON: ${reasons.join("; ")}`));
  }

  #unfinished(): StateCapture | undefined {
    return this.#captures.all.find(({ status }) => status === "open" || status === "closed");
  }

  #assertNoneUnfinished(): void {
    const found = this.#unfinished();
    if (found === undefined) return;
    const message = `${this.name}: the call ${printablePath(found.tag)} is neither kept nor restored; its capture is ${found.id}`;
    throw new FaultError(fault("RESOURCE_BUSY", message, { capture: found.id }));
  }

  #find(id: string): StateCapture {
    const found = this.#captures.find(id);
    if (found !== null) return found;
    throw new FaultError(lostCaptureFault(this.name, id));
  }

  #shared<Answer>(work: () => Answer): Promise<Awaited<Answer>> {
    return this.#lock === null ? Promise.resolve(work()) : this.#lock.share(work);
  }

  #end(id: string): void {
    if (this.#openId !== id) return;
    this.#openId = null;
    this.#lock?.release();
  }

  #toCapture({ id, tag, access, before }: StateCapture): Capture {
    return { resource: this.name, host: this.host, id, tag, access, digest: digestOf(before), excluded: [] };
  }
}

function lostCaptureFault(name: string, id: string): Fault {
  return fault("CAPTURE_NOT_FOUND", `the capture ${id} of ${name} was released, or its process has ended`);
}

function digestOf(state: Json): Digest {
  return hash("sha256", canonicalJson(state)) as Digest;
}

/** Returns the members that differ. A state that is no object counts as one part without a name. */
function differences(from: Json, to: Json): readonly ResourceDifference[] {
  if (!isJsonObject(from) || !isJsonObject(to)) return sameJson(from, to) ? [] : [difference("", from, to)];
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort();
  return names.filter((name) => !sameJson(from[name], to[name])).map((name) => difference(name, from[name], to[name]));
}

function difference(path: string, from: Json | undefined, to: Json | undefined): ResourceDifference {
  const change = from === undefined ? "added" : to === undefined ? "removed" : "changed";
  return { path, change, bytes: { before: sizeOf(from), after: sizeOf(to) } };
}

function sizeOf(value: Json | undefined): number | null {
  return value === undefined ? null : Buffer.byteLength(JSON.stringify(value));
}
