import { FaultError, fault } from "../../core/fault.ts";
import type { Digest } from "../../core/id.ts";
import type {
  Access,
  Capture,
  Closing,
  KeptCaptures,
  Left,
  Moment,
  Resource,
  ResourceChange,
  RestoreReport,
} from "../../core/resource.ts";
import type { Filesystem } from "../filesystem.ts";
import { filesystemOver } from "../filesystem-over.ts";
import { shown, type TreePath } from "../tree-path.ts";
import type { CaptureLog } from "./capture-log.ts";
import { closeHandle, closeRaw, type Working } from "./closing.ts";
import { diskFault } from "./disk.ts";
import { unfinishedName } from "./hands.ts";
import { changesBetween } from "./history.ts";
import { HostGround } from "./host-ground.ts";
import { hostIdentity } from "./host-identity.ts";
import { type HostFilesystemOptions, type HostParts, openParts } from "./host-parts.ts";
import { processMoment } from "./lingering.ts";
import { restoreChain, rewindOver, type Trees } from "./restore-chain.ts";
import { Sweeper } from "./sweeper.ts";
import { isBusy } from "./tree-lock.ts";

/**
 * A real working tree. A call that only uses its handle has each file captured before it first changes it; a call with raw access
 * has the whole tree looked at, before and after. What is put back is compared with what was, to the last bit.
 */
export class HostFilesystem implements Resource<Filesystem> {
  readonly name: string;
  readonly host: string = hostIdentity();
  readonly #parts: HostParts;
  readonly #working = new Map<string, Working>();
  readonly #trees: Trees = { seen: null, of: new Map() };
  readonly #sweeper: Sweeper;
  /** What is on disk has been read. */
  #begun = false;
  #disposed = false;

  constructor(options: HostFilesystemOptions) {
    this.#parts = openParts(options, () => this.#catchUp());
    this.#sweeper = new Sweeper(this.#parts, this.#trees);
    this.name = `files:${this.#parts.root}`;
  }

  async capture(tag: string, access: Access): Promise<Capture> {
    await this.#take();
    try {
      this.#mustBeSettled();
      this.#parts.shelf.dropBegun();
      const { log, excluded } = access === "raw" ? await this.#beginRaw(tag) : this.#beginHandle(tag);
      return this.#asCapture(log, excluded);
    } catch (error) {
      this.#parts.lock.give();
      throw diskFault(error, this.#parts.root);
    }
  }

  async open(capture: Capture): Promise<Filesystem> {
    const { ground, log, before } = this.#find(capture);
    if (before !== null) this.#noteOpened(log);
    return filesystemOver(ground, this.#parts);
  }

  async close(capture: Capture): Promise<Closing> {
    const { log, ground, before } = this.#find(capture);
    ground.end();
    try {
      return before === null ? closeHandle(log, ground) : await closeRaw(this.#parts, this.#trees, log, before);
    } catch (error) {
      throw diskFault(error, this.#parts.root);
    }
  }

  async keep(capture: Capture): Promise<void> {
    await this.#shared(() => {
      const { shelf } = this.#parts;
      if (shelf.keep(shelf.find(capture.id))) this.#sweeper.sweepIfDue();
    });
    this.#end(capture);
  }

  async restore(capture: Capture): Promise<RestoreReport> {
    const working = this.#working.get(capture.id);
    working?.ground.end();
    if (working === undefined) await this.#take();
    try {
      const { changed, digest } = await this.#restoreFrom(capture);
      // If it failed, whoever began it may try again; nobody else comes between.
      this.#end(capture);
      return { outcome: changed === 0 ? "nothing" : "restored", digest, changed };
    } catch (error) {
      throw diskFault(error, this.#parts.root);
    } finally {
      if (working === undefined) this.#parts.lock.give();
    }
  }

  async release(capture: Capture): Promise<void> {
    this.#trees.of.delete(capture.id);
    try {
      await this.#shared(() => this.#parts.shelf.drop(capture.id));
    } catch (error) {
      // Another process is at work. What is not released makes room when there are too many.
      if (!isBusy(error)) throw error;
    }
    this.#end(capture);
  }

  async leave(capture: Capture): Promise<void> {
    this.#working.get(capture.id)?.ground.end();
    this.#end(capture);
  }

  async kept(): Promise<KeptCaptures> {
    return this.#shared(() => {
      const { kept, isComplete } = this.#parts.shelf;
      return { captures: kept.map((log) => this.#asCapture(log)), isComplete };
    });
  }

  async rewind(capture: Capture, to: Moment): Promise<void> {
    const { shelf, root } = this.#parts;
    const { log, ground, before } = this.#find(capture);
    try {
      const from = this.#idAt(to) ?? log.id;
      const over = shelf.from(from).filter(({ id, state }) => id < log.id && state === "kept");
      if (before === null) ground.note(touchedBy(over, log.id));
      else this.#noteOpened(log);
      await rewindOver(this.#parts, this.#trees, over.toReversed(), log);
    } catch (error) {
      throw diskFault(error, root);
    }
  }

  async left(): Promise<Left | null> {
    if (this.#parts.lock.isTaken) return null;
    try {
      return await this.#shared(() => {
        const log = this.#parts.shelf.unfinished();
        return log && { capture: this.#asCapture(log), isClosed: log.state === "closed" };
      });
    } catch (error) {
      // Whoever is at work there is alive.
      if (isBusy(error)) return null;
      throw error;
    }
  }

  async digest(): Promise<Digest> {
    const { digest } = await this.#parts.walker.look("see", this.#trees.seen);
    return digest;
  }

  async diff(from: Moment | "now", to: Moment | "now"): Promise<readonly ResourceChange[]> {
    return this.#shared(() => changesBetween(this.#parts, this.#idAt(from), this.#idAt(to)));
  }

  /** Drops contents that no capture needs any more, which happens by itself when there are many; answers how many files that were. */
  async sweep(): Promise<number> {
    return this.#shared(() => this.#sweeper.sweep());
  }

  /** Lets go of the tree. A call that is at work is as one whose process died. */
  async dispose(): Promise<void> {
    const { objects, anchor, lock, shelf } = this.#parts;
    if (this.#disposed) return;
    this.#disposed = true;
    for (const { ground } of this.#working.values()) ground.end();
    this.#working.clear();
    objects.close();
    shelf.close();
    anchor.close();
    lock.close();
  }

  async #take(): Promise<void> {
    try {
      await this.#parts.lock.take();
    } catch (error) {
      throw diskFault(error, this.#parts.root);
    }
  }

  async #shared<Answer>(work: () => Answer): Promise<Awaited<Answer>> {
    try {
      return await this.#parts.lock.share(work);
    } catch (error) {
      throw diskFault(error, this.#parts.root);
    }
  }

  /** Others may have been at work, and have thrown away what nobody but us would have needed. */
  #catchUp(): void {
    const { shelf, objects } = this.#parts;
    shelf.refresh();
    if (objects.refresh()) {
      this.#trees.seen = null;
      this.#trees.of.clear();
    }
    if (!this.#begun) this.#sweeper.sweepIfDue();
    this.#begun = true;
  }

  #beginHandle(tag: string): Begun {
    const log = this.#parts.shelf.begin({ tag, access: "handle", tree: null, since: null, added: 0 });
    this.#working.set(log.id, { log, ground: this.#ground(log, "handle"), before: null });
    return { log, excluded: this.#parts.exclude };
  }

  async #beginRaw(tag: string): Promise<Begun> {
    const { walker, objects, shelf } = this.#parts;
    const since = processMoment();
    const had = objects.bytes;
    const { root, digest, excluded } = await walker.look("keep", this.#trees.seen);
    objects.sync();
    const log = shelf.begin({ tag, access: "raw", tree: digest, since, added: objects.bytes - had });
    this.#trees.seen = root;
    this.#trees.of.set(log.id, root);
    this.#working.set(log.id, { log, ground: this.#ground(log, "raw"), before: root });
    return { log, excluded };
  }

  /** From here on it may have been changed. */
  #noteOpened(log: CaptureLog): void {
    if (log.state !== "begun") return;
    try {
      log.append({ type: "opened" });
      log.sync();
    } catch (error) {
      throw diskFault(error, this.#parts.root);
    }
  }

  async #restoreFrom({ id }: Capture): Promise<{ readonly changed: number; readonly digest: Digest | null }> {
    const { shelf } = this.#parts;
    const own = shelf.find(id);
    // Others may have come since; there is nothing to take from under them.
    if (own.state === "restored" || own.state === "begun") return { changed: own.restored ?? 0, digest: own.before };
    const changed = await restoreChain(this.#parts, this.#trees, shelf.from(id).toReversed());
    return { changed, digest: own.before };
  }

  /** The call before which it was so; null: it is so now. */
  #idAt(moment: Moment | "now"): string | null {
    if (moment === "now") return null;
    const { shelf } = this.#parts;
    const [own, next] = shelf.from(shelf.find(moment.capture.id).id);
    return (moment.side === "before" ? own?.id : next?.id) ?? null;
  }

  /** Others may begin, if it was this call that kept them waiting. */
  #end({ id }: Pick<Capture, "id">): void {
    if (this.#working.delete(id)) this.#parts.lock.give();
  }

  #ground(log: CaptureLog, access: Access): HostGround {
    const { disk, anchor, limits, shelf, root, attributes } = this.#parts;
    const raw = access === "raw";
    return new HostGround({
      ...{ disk, anchor, limits, attributes },
      aside: shelf.aside,
      log: raw ? null : log,
      root: raw ? root : null,
    });
  }

  #asCapture({ id, begun }: CaptureLog, left: readonly string[] = this.#parts.exclude): Capture {
    const { tag, access, tree } = begun;
    const excluded = this.#parts.coversAttributes ? left : [...left, "extended attributes"];
    return { resource: this.name, host: this.host, id, tag, access, digest: tree, excluded };
  }

  /** A tree that somebody died at is put back before anybody else works on it. */
  #mustBeSettled(): void {
    const { shelf, root } = this.#parts;
    const log = shelf.unfinished();
    if (log === null) return;
    const message = `${shown(root)}: the call ${shown(log.begun.tag)} was neither kept nor undone; its capture is ${log.id}`;
    throw new FaultError(fault("RESOURCE_BUSY", message, { capture: log.id }));
  }

  #find(capture: Capture): Working {
    const found = this.#working.get(capture.id);
    if (found !== undefined) return found;
    throw new FaultError(fault("NOT_POSSIBLE", `the call with the capture ${capture.id} is not at work here`));
  }
}

interface Begun {
  readonly log: CaptureLog;
  readonly excluded: readonly string[];
}

/** Where going back over calls that only used their handle may change something, if only for a moment. */
function touchedBy(logs: readonly CaptureLog[], id: string): readonly TreePath[] {
  if (logs.some(({ before }) => before !== null))
    throw new FaultError(fault("NOT_POSSIBLE", "a call with raw access is only gone back over with raw access"));
  const paths = logs.flatMap(({ records }) =>
    records.flatMap(({ record }) => (record.type === "was" ? [record.path] : [])),
  );
  const places = paths.map((path) => [...path.slice(0, -1), unfinishedName(id)]);
  return [...new Map([...paths, ...places].map((path) => [path.join("/"), path])).values()];
}
