import { constants } from "node:fs";
import { FaultError, fault } from "../../core/fault.ts";
import type { Digest } from "../../core/id.ts";
import type { Access, Capture, Closing, Resource, ResourceChange, RestoreReport } from "../../core/resource.ts";
import type { Filesystem } from "../filesystem.ts";
import { filesystemOver } from "../filesystem-over.ts";
import { shown } from "../tree-path.ts";
import type { CaptureLog } from "./capture-log.ts";
import { diskFault, syncDirectory } from "./disk.ts";
import { changesBetween } from "./history.ts";
import { HostGround } from "./host-ground.ts";
import { hostIdentity } from "./host-identity.ts";
import { type HostFilesystemOptions, type HostParts, openParts } from "./host-parts.ts";
import { lingering, type ProcessMoment, processMoment } from "./lingering.ts";
import { beforeOf, restoreChain, type Trees } from "./restore-chain.ts";
import type { DirectoryNode } from "./tree-node.ts";
import { changesOf, type Difference, differences } from "./tree-restorer.ts";
import { type Look, restless } from "./tree-walker.ts";

const changesShown = 100;

/** What this process knows of a call that is at work. */
interface Working {
  readonly log: CaptureLog;
  readonly ground: HostGround;
  readonly before: DirectoryNode | null;
  readonly since: ProcessMoment;
}

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
  #disposed = false;

  constructor(options: HostFilesystemOptions) {
    this.#parts = openParts(options);
    this.name = `files:${this.#parts.root}`;
  }

  async capture(tag: string, access: Access): Promise<Capture> {
    const { lock, walker, objects, shelf, root } = this.#parts;
    await lock.take();
    try {
      this.#mustBeSettled();
      const since = access === "raw" ? processMoment() : 0;
      const look = access === "raw" ? await walker.look("keep", this.#trees.seen) : null;
      objects.sync();
      const log = shelf.begin(tag, access, look?.digest ?? null);
      if (look !== null) {
        this.#trees.seen = look.root;
        this.#trees.of.set(log.id, look.root);
      }
      this.#working.set(log.id, { log, ground: this.#ground(log, access), before: look?.root ?? null, since });
      return this.#asCapture({ id: log.id, tag, access }, look);
    } catch (error) {
      await lock.free();
      throw diskFault(error, root);
    }
  }

  async open(capture: Capture): Promise<Filesystem> {
    const { ground, log, before } = this.#find(capture);
    if (before !== null) this.#noteOpened(log);
    return filesystemOver(ground, this.#parts);
  }

  async close(capture: Capture): Promise<Closing> {
    const working = this.#find(capture);
    working.ground.end();
    try {
      const closing =
        working.before === null ? this.#closeHandle(working) : await this.#closeRaw(working, working.before);
      await this.#end(capture);
      return closing;
    } catch (error) {
      throw diskFault(error, this.#parts.root);
    }
  }

  async restore(capture: Capture): Promise<RestoreReport> {
    const { lock, root } = this.#parts;
    const working = this.#working.get(capture.id);
    working?.ground.end();
    if (working === undefined) await lock.take();
    try {
      const { changed, digest } = await this.#restoreFrom(capture);
      await this.#end(capture);
      return { outcome: changed === 0 ? "nothing" : "restored", digest, changed };
    } catch (error) {
      // Whoever began it may try again; nobody else comes between.
      if (working === undefined) await lock.free();
      throw diskFault(error, root);
    }
  }

  async release(capture: Capture): Promise<void> {
    this.#trees.of.delete(capture.id);
    this.#parts.shelf.drop(capture);
  }

  async digest(): Promise<Digest> {
    const { digest } = await this.#parts.walker.look("see", this.#trees.seen);
    return digest;
  }

  async diff(from: Capture, to: Capture | "now"): Promise<readonly ResourceChange[]> {
    return changesBetween(this.#parts, from.id, to === "now" ? null : to.id);
  }

  /** Drops contents that no capture needs any more; answers how many files that were. The next raw capture reads the whole tree. */
  async sweep(): Promise<number> {
    const { shelf, walker, objects } = this.#parts;
    const wanted = new Set<string>();
    this.#trees.seen = null;
    for (const id of shelf.ids()) {
      const log = shelf.open(id);
      for (const tree of treesOf(log)) {
        wanted.add(tree);
        collect(walker.load(tree), wanted);
      }
      log.close();
    }
    return objects.sweep(wanted);
  }

  /** Lets go of the tree. A call that is at work is as one whose process died. */
  async dispose(): Promise<void> {
    const { objects, anchor, lock } = this.#parts;
    if (this.#disposed) return;
    this.#disposed = true;
    for (const { log, ground } of this.#working.values()) {
      ground.end();
      log.close();
    }
    this.#working.clear();
    objects.close();
    anchor.close();
    await lock.free();
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

  async #restoreFrom(capture: Capture): Promise<{ readonly changed: number; readonly digest: Digest | null }> {
    const { shelf } = this.#parts;
    const working = this.#working.get(capture.id)?.log;
    const opened: CaptureLog[] = [];
    try {
      const own = working ?? shelf.open(capture.id);
      if (own !== working) opened.push(own);
      const newer = shelf.from(capture.id).filter((id) => id !== capture.id);
      for (const id of newer) opened.push(shelf.open(id));
      const logs = [own, ...opened.filter((log) => log !== own)].sort((left, right) => (left.id < right.id ? 1 : -1));
      return { changed: await restoreChain(this.#parts, this.#trees, logs), digest: beforeOf(own) };
    } finally {
      for (const log of opened) log.close();
    }
  }

  #closeHandle({ log, ground }: Working): Closing {
    const after = ground.settle();
    log.append({ type: "closed", tree: null, after });
    log.sync();
    const changes = log.records.flatMap(({ record }): ResourceChange[] => {
      if (record.type !== "was" || record.was.kind === "directory") return [];
      const there = after.some(({ path, mark }) => path === record.path && mark !== "absent");
      const change = record.was.kind === "absent" ? "added" : there ? "changed" : "removed";
      return [{ path: record.path.join("/"), change }];
    });
    return { digest: null, changed: changes.length, changes: changes.slice(0, changesShown) };
  }

  async #closeRaw({ log, since }: Working, before: DirectoryNode): Promise<Closing> {
    const { walker, objects, root } = this.#parts;
    const look = await walker.look("note", this.#trees.seen);
    const left = lingering(root, since);
    if (left.length > 0) throw restless(root, `the tool has left at work: ${left.join(", ")}`);
    const again = await walker.look("see", look.root);
    if (again.digest !== look.digest) throw restless(root, "it still changes though the tool has ended");
    const found = differences(before, look.root);
    this.#syncChanged(found);
    objects.sync();
    log.append({ type: "closed", tree: look.digest, after: [] });
    log.sync();
    this.#trees.seen = look.root;
    const changes = changesOf(found);
    return { digest: look.digest, changed: changes.length, changes: changes.slice(0, changesShown) };
  }

  /** What a tool that knows nothing of us wrote is on disk before anybody is told that it succeeded. */
  #syncChanged(found: readonly Difference[]): void {
    const { anchor, disk } = this.#parts;
    for (const { path, to } of found) {
      if (to?.kind === "file") {
        const { descriptor } = anchor.file(path, constants.O_RDONLY);
        disk.fsyncSync(descriptor);
        disk.closeSync(descriptor);
      }
      const place = to?.kind === "directory" ? path : path.slice(0, -1);
      anchor.at([...place, "."], ({ directory }) => syncDirectory(disk, directory));
    }
  }

  async #end({ id }: Pick<Capture, "id">): Promise<void> {
    this.#working.get(id)?.log.close();
    this.#working.delete(id);
    await this.#parts.lock.free();
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

  #asCapture({ id, tag, access }: Pick<Capture, "id" | "tag" | "access">, look: Look | null): Capture {
    const { exclude, coversAttributes } = this.#parts;
    const uncovered = coversAttributes ? [] : ["extended attributes"];
    const excluded = [...(look?.excluded ?? exclude), ...uncovered];
    return { resource: this.name, host: this.host, id, tag, access, digest: look?.digest ?? null, excluded };
  }

  /** A tree that somebody died at is put back before anybody else works on it. */
  #mustBeSettled(): void {
    const { shelf, root } = this.#parts;
    const id = shelf.unfinished();
    if (id === null) return;
    const message = `${shown(root)}: the capture ${id} was neither ended nor undone; restore it first`;
    throw new FaultError(fault("RESOURCE_BUSY", message, { capture: id }));
  }

  #find(capture: Capture): Working {
    const found = this.#working.get(capture.id);
    if (found !== undefined) return found;
    throw new FaultError(fault("NOT_POSSIBLE", `the call with the capture ${capture.id} is not at work here`));
  }
}

function treesOf(log: CaptureLog): readonly Digest[] {
  return log.records.flatMap(({ record }) =>
    (record.type === "begun" || record.type === "closed") && record.tree !== null ? [record.tree] : [],
  );
}

function collect(node: DirectoryNode, into: Set<string>): void {
  if (node.digest !== null) into.add(node.digest);
  for (const child of node.children.values()) {
    if (child.kind === "file") into.add(child.digest);
    if (child.kind === "directory") collect(child, into);
  }
}
