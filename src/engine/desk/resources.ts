import { type Fault, FaultError, fault } from "../../core/fault.ts";
import type { Digest } from "../../core/id.ts";
import type { Access, Capture, Closing, Moment, Resource, RestoreReport } from "../../core/resource.ts";
import type { Run } from "../../core/run.ts";
import type { Tool } from "../../core/tool.ts";
import { faultOf } from "../road/thrown.ts";
import type { Standing } from "./capture-tag.ts";

/** The resources of an engine, by the name that tools have for them. Calls that share one take turns. */
export class Resources {
  readonly #known: ReadonlyMap<string, Resource>;
  readonly #standing: (capture: Capture) => Promise<Standing>;
  readonly #turns = new Map<string, Promise<void>>();

  constructor(known: Readonly<Record<string, Resource>>, standing: (capture: Capture) => Promise<Standing>) {
    this.#known = new Map(Object.entries(known));
    this.#standing = standing;
  }

  /** In one order, so that two never wait for each other. */
  get byName(): readonly (readonly [string, Resource])[] {
    return [...this.#known].sort(([left], [right]) => (left < right ? -1 : 1));
  }

  /**
   * Makes resources what they were, in the hands of one who has captured how they are; null: they are so. That it was done is not on
   * record yet, and nobody else changes any of them before it is.
   */
  async rewind(find: (resource: Resource) => Promise<Moment | null>, tag: string): Promise<Rewound> {
    const borrowed = new Borrowed();
    try {
      for (const [name, resource] of this.byName) {
        borrowed.onReturn(await this.#turn(resource.name));
        // What is on record as done can be gone back to, whether or not its process lived to say so here.
        await this.#settleLeft(resource);
        const { captures } = await resource.kept();
        const moment = await find(resource);
        const capture = await this.#captured(resource, tag, accessBackTo(moment, captures));
        if (moment === null) borrowed.hold(resource, capture);
        else borrowed.add(name, resource, capture);
        const now = await resource.kept();
        if (captures.at(-1)?.id !== now.captures.at(-1)?.id) throw new FaultError(overtaken(resource));
        if (moment !== null) await resource.rewind(capture, moment);
      }
      return { borrowed, closings: await borrowed.close() };
    } catch (error) {
      await borrowed.giveBack();
      throw error;
    }
  }

  /** Whatever a process died at is settled before anything else happens. What cannot be is told to whoever wants to work there. */
  async settle(): Promise<void> {
    for (const resource of this.#known.values()) {
      const done = await this.#turn(resource.name);
      await this.#settleLeft(resource).catch(() => {});
      done();
    }
  }

  /** Why a tool cannot be called here, if the run is bound to these hosts; null: it can. */
  mismatch({ name, resources }: Pick<Tool, "name" | "resources">, bound: Run["bound"]): Fault | null {
    for (const needed of Object.keys(resources)) {
      const resource = this.#known.get(needed);
      const host = resource !== undefined && Object.hasOwn(bound, resource.name) ? bound[resource.name] : undefined;
      if (resource === undefined)
        return fault(
          "RESOURCE_ELSEWHERE",
          `${name} changes ${needed}, which this engine does not have; give it to createEngine`,
        );
      if (host !== undefined && host !== resource.host)
        return fault(
          "RESOURCE_ELSEWHERE",
          `${needed} of this run is on ${host}; only a worker there can go on with it`,
        );
    }
    return null;
  }

  /** Waits for the turn of a call, and captures what it is about to change. Rejects with the fault if that cannot be put back. */
  async borrow({ resources }: Pick<Tool, "resources">, tag: string): Promise<Borrowed> {
    // In one order, so that two calls never wait for each other.
    const names = Object.keys(resources).sort();
    const borrowed = new Borrowed();
    try {
      for (const name of names) {
        const resource = this.#known.get(name) as Resource;
        borrowed.onReturn(await this.#turn(resource.name));
        borrowed.add(name, resource, await this.#captured(resource, tag, resources[name] ?? "raw"));
      }
      await borrowed.open();
      return borrowed;
    } catch (error) {
      await borrowed.giveBack();
      throw error;
    }
  }

  /** How the resources of a tool stand: seen in turn, or by whoever has them in hand. */
  async digests({ resources }: Pick<Tool, "resources">, how: "in turn" | "in hand"): Promise<Record<string, Digest>> {
    const found: Record<string, Digest> = {};
    for (const name of Object.keys(resources).sort()) {
      const resource = this.#known.get(name) as Resource;
      const done = how === "in turn" ? await this.#turn(resource.name) : () => {};
      try {
        found[name] = await resource.digest();
      } finally {
        done();
      }
    }
    return found;
  }

  /** Puts back what a call of a worker that is gone had changed. */
  async restore(captures: readonly Capture[]): Promise<readonly RestoreReport[]> {
    const reports: RestoreReport[] = [];
    for (const capture of captures.toReversed()) {
      const resource = [...this.#known.values()].find(({ name }) => name === capture.resource);
      if (resource === undefined || resource.host !== capture.host) {
        const message = `${capture.resource} was changed on ${capture.host ?? "another worker"} and has to be put back there`;
        throw new FaultError(fault("RESOURCE_ELSEWHERE", message));
      }
      const done = await this.#turn(resource.name);
      try {
        reports.unshift(await restored(resource, capture));
        await resource.release(capture);
      } finally {
        done();
      }
    }
    return reports;
  }

  async #captured(resource: Resource, tag: string, access: Access): Promise<Capture> {
    try {
      return await resource.capture(tag, access);
    } catch (error) {
      if (faultOf(error).code !== "RESOURCE_BUSY" || !(await this.#settledForOthers(resource))) throw error;
      return resource.capture(tag, access);
    }
  }

  /** What stands in the way of putting a call back is no fault of whoever comes next: that one waits, and is told why. */
  async #settledForOthers(resource: Resource): Promise<boolean> {
    try {
      return await this.#settleLeft(resource);
    } catch (error) {
      const { code, message } = faultOf(error);
      if (code === "RESOURCE_BUSY") throw error;
      const why = `${resource.name} is taken: what a call left there cannot be put back yet (${code}: ${message})`;
      throw new FaultError(fault("RESOURCE_BUSY", why), { cause: error });
    }
  }

  /** A resource that somebody died at is put back first, unless the record says that the call ended well. */
  async #settleLeft(resource: Resource): Promise<boolean> {
    const left = await resource.left();
    if (left === null) return false;
    const { capture, isClosed } = left;
    const standing = await this.#standing(capture);
    if (standing === "stands") {
      await resource.keep(capture);
      return true;
    }
    if (standing === "unknown" && isClosed) throw new FaultError(undecided(resource, capture));
    await restored(resource, capture);
    // Whoever takes its run up asks once more, and puts on record what was found.
    if (standing !== "owed") await resource.release(capture);
    return true;
  }

  async #turn(name: string): Promise<() => void> {
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

/** Resources that are what they were, and the hands that they are in until it is on record. */
export interface Rewound {
  readonly borrowed: Borrowed;
  readonly closings: readonly Closing[];
}

/** What one call has in its hands. */
export class Borrowed {
  readonly #parts: { readonly name: string; readonly resource: Resource; readonly capture: Capture }[] = [];
  /** Nothing is done with them, and nobody else does anything with them either. */
  readonly #held: { readonly resource: Resource; readonly capture: Capture }[] = [];
  readonly #handles = new Map<string, unknown>();
  readonly #returns: (() => void)[] = [];
  #stands: "open" | "closed" | "kept" | "restored" = "open";

  add(name: string, resource: Resource, capture: Capture): void {
    this.#parts.push({ name, resource, capture });
  }

  hold(resource: Resource, capture: Capture): void {
    this.#held.push({ resource, capture });
  }

  onReturn(back: () => void): void {
    this.#returns.push(back);
  }

  get captures(): readonly Capture[] {
    return this.#parts.map(({ capture }) => capture);
  }

  async open(): Promise<void> {
    for (const { name, resource, capture } of this.#parts) this.#handles.set(name, await resource.open(capture));
  }

  handle(name: string): unknown {
    if (this.#handles.has(name)) return this.#handles.get(name);
    throw new FaultError(fault("STATE_FORBIDDEN", `the tool has not declared the resource ${name}`));
  }

  /** The handler has ended well. Rejects if something still changes a resource: then the call has failed. */
  async close(): Promise<readonly Closing[]> {
    const closings: Closing[] = [];
    for (const { resource, capture } of this.#parts) closings.push(await resource.close(capture));
    this.#stands = "closed";
    return closings;
  }

  async restore(): Promise<readonly RestoreReport[]> {
    const reports: RestoreReport[] = [];
    for (const { resource, capture } of this.#parts.toReversed()) reports.unshift(await restored(resource, capture));
    this.#stands = "restored";
    return reports;
  }

  /** That the call succeeded is on record. */
  keep(): void {
    this.#stands = "kept";
  }

  /**
   * Others may have their turn. What was never closed is put back; what was closed, and is on no record as done, is left as it is
   * for whoever comes next: the record will say whether it stands.
   */
  async giveBack(): Promise<void> {
    try {
      if (this.#stands === "open") await this.restore();
    } catch {
      // What cannot be put back now is put back by whoever comes next.
    }
    const endings = [
      ...this.#parts.map(({ resource, capture }) => ({ resource, capture, end: () => this.#part(resource, capture) })),
      ...this.#held.map(({ resource, capture }) => ({ resource, capture, end: () => resource.release(capture) })),
    ];
    for (const { resource, capture, end } of endings) {
      // What is neither kept nor released harms nobody, if it is let go: the record knows.
      await end()
        .catch(() => resource.leave(capture))
        .catch(() => {});
    }
    for (const back of this.#returns.splice(0)) back();
  }

  #part(resource: Resource, capture: Capture): Promise<void> {
    if (this.#stands === "kept") return resource.keep(capture);
    return this.#stands === "restored" ? resource.release(capture) : resource.leave(capture);
  }
}

/** Only with raw access is a call gone back over that had it. */
function accessBackTo(moment: Moment | null, captures: readonly Capture[]): Access {
  const from = captures.findIndex(({ id }) => id === moment?.capture.id);
  return from >= 0 && captures.slice(from).some(({ access }) => access === "raw") ? "raw" : "handle";
}

function overtaken({ name }: Resource): Fault {
  return fault("RESOURCE_BUSY", `${name} was changed by another process in this moment; try it again`);
}

function undecided({ name }: Resource, { tag }: Capture): Fault {
  const message = `${name} was left by ${tag}, of which this store knows nothing; open an engine on the store that does`;
  return fault("RESOURCE_BUSY", message);
}

/** What is no longer kept was ended or put back before. */
async function restored(resource: Resource, capture: Capture): Promise<RestoreReport> {
  try {
    return await resource.restore(capture);
  } catch (error) {
    if (faultOf(error).code !== "CAPTURE_NOT_FOUND") throw error;
    return { outcome: "nothing", digest: null, changed: 0 };
  }
}
