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
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import { filesystemContents } from "../filesystem-contents.ts";
import type { Filesystem } from "../filesystem-handle.ts";
import { createToolFilesystem } from "../tool-filesystem.ts";
import { printablePath, type TreePath } from "../tree-path.ts";
import type { CaptureLog } from "./capture-log.ts";
import { changesBetweenCalls } from "./changes-between-calls.ts";
import { closeHandleCall, closeRawCall, closeWatchedCall, type OpenCall } from "./close-call.ts";
import { ContentSweeper } from "./content-sweeper.ts";
import { diskFault } from "./disk.ts";
import { HostBackend } from "./host-backend.ts";
import { machineIdentity } from "./machine-identity.ts";
import { type KnownTrees, restoreCalls, rewindCalls } from "./restore-calls.ts";
import { revertCalls } from "./revert-calls.ts";
import { currentProcessMark } from "./running-processes.ts";
import { isTreeBusy } from "./tree-lock.ts";
import { temporaryName } from "./tree-writer.ts";
import { type HostFilesystemOptions, openWorkingTree, type WorkingTree } from "./working-tree.ts";

/**
 * A working tree on disk. For a call that uses only its handle, each file is captured before the first change to it;
 * for a call with raw access, the whole tree is scanned before and after. A restore compares the result with the
 * captured tree, byte for byte.
 */
export class HostFilesystem implements Resource<Filesystem> {
  readonly name: string;
  readonly host: string = machineIdentity();
  readonly contents: ResourceContents<Filesystem>;
  readonly #parts: WorkingTree;
  readonly #openCalls = new Map<string, OpenCall>();
  readonly #trees: KnownTrees = { latest: null, byCall: new Map() };
  readonly #sweeper: ContentSweeper;
  /** True after the captures on disk were read once. */
  #isLoaded = false;
  #isDisposed = false;

  constructor(options: HostFilesystemOptions) {
    this.#parts = openWorkingTree(options, () => this.#refresh());
    this.#sweeper = new ContentSweeper(this.#parts, this.#trees);
    this.name = `files:${this.#parts.root}`;
    this.contents = filesystemContents(this.#parts);
  }

  async capture(tag: string, access: Access): Promise<Capture> {
    await this.#takeLock();
    try {
      this.#parts.rootDirectory.assertInPlace();
      this.#assertNoneUnfinished();
      this.#parts.captures.dropBegun();
      const { log, excluded } = access === "handle" ? this.#beginHandle(tag) : await this.#beginRaw(tag, access);
      return this.#toCapture(log, excluded);
    } catch (error) {
      this.#parts.lock.release();
      throw diskFault(error, this.#parts.root);
    }
  }

  async open(capture: Capture): Promise<Filesystem> {
    const { backend, log, before } = this.#findOpenCall(capture);
    if (before !== null) this.#markOpened(log);
    return createToolFilesystem(backend, this.#parts);
  }

  async close(capture: Capture): Promise<ResourceClosing> {
    const { log, backend, before } = this.#findOpenCall(capture);
    backend.end();
    try {
      this.#parts.rootDirectory.assertInPlace();
      return before === null
        ? closeHandleCall(log, backend)
        : await closeRawCall(this.#parts, this.#trees, log, before);
    } catch (error) {
      throw diskFault(error, this.#parts.root);
    }
  }

  async keep(capture: Capture): Promise<void> {
    await this.#withSharedLock(() => {
      const { captures } = this.#parts;
      if (captures.markKept(captures.find(capture.id))) this.#sweeper.sweepIfDue();
    });
    this.#endCall(capture);
  }

  async restore(capture: Capture): Promise<RestoreReport> {
    const openCall = this.#openCalls.get(capture.id);
    openCall?.backend.end();
    if (openCall === undefined) await this.#takeLock();
    try {
      this.#parts.rootDirectory.assertInPlace();
      const { changed, digest } = await this.#restoreSince(capture);
      // A failed restore keeps the lock, so that this process can try again before any other call starts.
      this.#endCall(capture);
      return { outcome: changed === 0 ? "nothing" : "restored", digest, changed };
    } catch (error) {
      throw diskFault(error, this.#parts.root);
    } finally {
      if (openCall === undefined) this.#parts.lock.release();
    }
  }

  async release(capture: Capture): Promise<void> {
    this.#trees.byCall.delete(capture.id);
    try {
      await this.#withSharedLock(() => this.#parts.captures.end(capture.id));
    } catch (error) {
      // Another process holds the lock. The capture stays until a limit drops it.
      if (!isTreeBusy(error)) throw error;
    }
    this.#endCall(capture);
  }

  async leave(capture: Capture): Promise<void> {
    this.#openCalls.get(capture.id)?.backend.end();
    this.#endCall(capture);
  }

  async kept(): Promise<KeptCaptures> {
    return this.#withSharedLock(() => {
      const { kept, isComplete } = this.#parts.captures;
      return { captures: kept.map((log) => this.#toCapture(log)), isComplete };
    });
  }

  async rewind(capture: Capture, to: ResourceMoment): Promise<void> {
    const { captures, root } = this.#parts;
    const { log, backend, before } = this.#findOpenCall(capture);
    try {
      const from = this.#captureIdAt(to) ?? log.id;
      const undone = captures.since(from).filter(({ id, state }) => id < log.id && state === "kept");
      if (before === null) backend.recordPriorStates(touchedPaths(undone, log.id));
      else this.#markOpened(log);
      await rewindCalls(this.#parts, this.#trees, undone.toReversed(), log);
    } catch (error) {
      throw diskFault(error, root);
    }
  }

  async revert(capture: Capture, calls: readonly Capture[]): Promise<RevertReport> {
    const { log, backend, before } = this.#findOpenCall(capture);
    try {
      if (before !== null) this.#markOpened(log);
      return await revertCalls(
        this.#parts,
        calls.map(({ id }) => id),
        log,
        backend,
      );
    } catch (error) {
      throw diskFault(error, this.#parts.root);
    }
  }

  async left(): Promise<AbandonedCapture | null> {
    if (this.#parts.lock.isTaken) return null;
    try {
      return await this.#withSharedLock(() => {
        const log = this.#parts.captures.findUnfinished();
        return log && { capture: this.#toCapture(log), isClosed: log.state === "closed" };
      });
    } catch (error) {
      // The process that holds the lock is alive, so its call is not abandoned.
      if (isTreeBusy(error)) return null;
      throw error;
    }
  }

  async digest(): Promise<Digest> {
    const { digest } = await this.#parts.walker.scan("hash", this.#trees.latest);
    return digest;
  }

  async revision(): Promise<string> {
    return this.#withSharedLock(() => `capture:${this.#parts.captures.lastChangeId ?? "none"}`);
  }

  async diff(from: ResourceMoment | "now", to: ResourceMoment | "now"): Promise<readonly ResourceDifference[]> {
    return this.#withSharedLock(() => changesBetweenCalls(this.#parts, this.#captureIdAt(from), this.#captureIdAt(to)));
  }

  /**
   * Deletes contents that no capture needs and returns the number of deleted packs. This also happens automatically
   * when contents grow.
   */
  async sweep(): Promise<number> {
    return this.#withSharedLock(() => this.#sweeper.sweep());
  }

  /** Releases the tree. An open call becomes an abandoned call, as if its process had died. */
  async dispose(): Promise<void> {
    const { objects, rootDirectory, lock, captures } = this.#parts;
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    for (const { backend } of this.#openCalls.values()) backend.end();
    this.#openCalls.clear();
    objects.close();
    captures.close();
    rootDirectory.close();
    lock.close();
  }

  async #takeLock(): Promise<void> {
    try {
      await this.#parts.lock.take();
    } catch (error) {
      throw diskFault(error, this.#parts.root);
    }
  }

  async #withSharedLock<Answer>(work: () => Answer): Promise<Awaited<Answer>> {
    try {
      return await this.#parts.lock.share(work);
    } catch (error) {
      throw diskFault(error, this.#parts.root);
    }
  }

  /**
   * Reads what other processes wrote. Forgets cached trees if a sweep of another process deleted contents, because the
   * cached nodes may refer to them.
   */
  #refresh(): void {
    const { captures, objects } = this.#parts;
    captures.refresh();
    if (objects.refresh()) {
      this.#trees.latest = null;
      this.#trees.byCall.clear();
    }
    if (!this.#isLoaded) this.#sweeper.sweepIfDue();
    this.#isLoaded = true;
  }

  #beginHandle(tag: string): BegunCall {
    const log = this.#parts.captures.begin({ tag, access: "handle", tree: null, since: null, added: 0 });
    // Durable before the journal names the capture: a capture that the journal names and the store lacks was lost.
    log.sync();
    this.#openCalls.set(log.id, { log, backend: this.#makeBackend(log, "handle"), before: null });
    return { log, excluded: this.#parts.exclude };
  }

  async #beginRaw(tag: string, access: Access): Promise<BegunCall> {
    const { walker, objects, captures } = this.#parts;
    const since = currentProcessMark();
    const bytesBefore = objects.bytes;
    const { root, digest, excluded } = await walker.scan("capture", this.#trees.latest);
    objects.sync();
    const log = captures.begin({ tag, access, tree: digest, since, added: objects.bytes - bytesBefore });
    this.#trees.latest = root;
    this.#trees.byCall.set(log.id, root);
    this.#openCalls.set(log.id, { log, backend: this.#makeBackend(log, access), before: root });
    return { log, excluded };
  }

  /** Records, before the tool starts, that the call may change the tree. */
  #markOpened(log: CaptureLog): void {
    if (log.state !== "begun") return;
    try {
      log.append({ type: "opened" });
      log.sync();
    } catch (error) {
      throw diskFault(error, this.#parts.root);
    }
  }

  async #restoreSince({ id }: Capture): Promise<{ readonly changed: number; readonly digest: Digest | null }> {
    const { captures } = this.#parts;
    if (captures.isUnused(id)) return { changed: 0, digest: null };
    const log = captures.find(id);
    if (log.begun.access === "watched") {
      if (log.state === "open") await closeWatchedCall(this.#parts, this.#trees, log);
      return { changed: 0, digest: log.before };
    }
    // Nothing to undo. Later calls may exist and must not be undone.
    if (log.state === "restored" || log.state === "begun") return { changed: log.restored ?? 0, digest: log.before };
    const changed = await restoreCalls(this.#parts, this.#trees, captures.since(id).toReversed());
    return { changed, digest: log.before };
  }

  /** Returns the id of the call right after that moment; null for the current state. */
  #captureIdAt(moment: ResourceMoment | "now"): string | null {
    if (moment === "now") return null;
    const { captures } = this.#parts;
    const [log, next] = captures.since(captures.find(moment.capture.id).id);
    return (moment.side === "before" ? log?.id : next?.id) ?? null;
  }

  /** Releases the lock if the call was open in this process. */
  #endCall({ id }: Pick<Capture, "id">): void {
    if (this.#openCalls.delete(id)) this.#parts.lock.release();
  }

  #makeBackend(log: CaptureLog, access: Access): HostBackend {
    const { disk, rootDirectory, limits, captures, root, attributes } = this.#parts;
    const raw = access !== "handle";
    return new HostBackend({
      ...{ disk, rootDirectory, limits, attributes },
      aside: captures.aside,
      log: raw ? null : log,
      root: raw ? root : null,
    });
  }

  #toCapture({ id, begun }: CaptureLog, omitted: readonly string[] = this.#parts.exclude): Capture {
    const { tag, access, tree } = begun;
    const excluded = this.#parts.coversAttributes ? omitted : [...omitted, "extended attributes"];
    return { resource: this.name, host: this.host, id, tag, access, digest: tree, excluded };
  }

  /**
   * Throws if a call is unfinished, such as one whose process died. It must be kept or restored before another call
   * starts.
   */
  #assertNoneUnfinished(): void {
    const { captures, root } = this.#parts;
    const log = captures.findUnfinished();
    if (log === null) return;
    const message = `${printablePath(root)}: the call ${printablePath(log.begun.tag)} is neither kept nor restored; its capture is ${log.id}`;
    throw new FaultError(fault("RESOURCE_BUSY", message, { capture: log.id }));
  }

  #findOpenCall(capture: Capture): OpenCall {
    const found = this.#openCalls.get(capture.id);
    if (found !== undefined) return found;
    throw new FaultError(fault("NOT_POSSIBLE", `the call with the capture ${capture.id} is not open in this process`));
  }
}

interface BegunCall {
  readonly log: CaptureLog;
  readonly excluded: readonly string[];
}

/** Returns every path that undoing handle calls may change, including temporary files. */
function touchedPaths(logs: readonly CaptureLog[], id: string): readonly TreePath[] {
  if (logs.some(({ before }) => before !== null))
    throw new FaultError(fault("NOT_POSSIBLE", "only a call with raw access can rewind over a call with raw access"));
  const paths = logs.flatMap(({ records }) =>
    records.flatMap(({ record }) => (record.type === "was" ? [record.path] : [])),
  );
  const places = paths.map((path) => [...path.slice(0, -1), temporaryName(id)]);
  return [...new Map([...paths, ...places].map((path) => [path.join("/"), path])).values()];
}
