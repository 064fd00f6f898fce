import { randomUUID } from "node:crypto";
import type {
  AbandonedCapture,
  Access,
  Capture,
  KeptCaptures,
  Resource,
  ResourceChange,
  ResourceClosing,
  ResourceContents,
  ResourceDifference,
  ResourceMoment,
  RestoreReport,
} from "../../core/ports/resource.ts";
import type { RevertReport } from "../../core/ports/revert-report.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import { changeReport } from "../change-report.ts";
import { type FileLimits, fileLimits } from "../file-limits.ts";
import { filesystemContents } from "../filesystem-contents.ts";
import type { Filesystem } from "../filesystem-handle.ts";
import { createToolFilesystem, type FilesystemRules } from "../tool-filesystem.ts";
import { printablePath, protectedNames, treePath } from "../tree-path.ts";
import {
  emptyDirectory,
  type MemoryDirectory,
  memoryChanges,
  memoryDigest,
  memoryNodeAt,
  withMemoryNode,
} from "./memory-directory.ts";
import { MemoryDraft } from "./memory-draft.ts";
import { type MemoryCall, revertCallsInMemory } from "./revert-calls-in-memory.ts";

export interface MemoryFilesystemOptions {
  /** Stable across restarts, and unique among the resources of an engine. Default: `files:memory`. */
  readonly name?: string;
  /** The initial files, by path. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly limits?: Partial<FileLimits>;
  readonly protect?: readonly string[];
  readonly now?: () => number;
}

/** Above this number of written paths, contents are not compared. */
const comparedPathsMax = 100;

/**
 * Files in the memory of one process. A call works on a draft: snapshots and rollbacks are free, at any number of
 * files, and concurrent calls do not see unpublished changes of each other. A call that read or wrote a path that
 * another call has published since fails with RESOURCE_BUSY and may be tried again.
 */
export class MemoryFilesystem implements Resource<Filesystem> {
  readonly name: string;
  readonly host = null;
  readonly contents: ResourceContents<Filesystem>;
  readonly #instanceId = randomUUID();
  readonly #rules: FilesystemRules;
  readonly #now: () => number;
  readonly #calls = new Map<string, MemoryCall>();
  readonly #published = new PublishedCalls();
  /** Published calls whose worker gave them up. The journal decides whether they are kept or undone. */
  readonly #abandoned = new Set<MemoryCall>();
  #tree = emptyDirectory;
  #captureCount = 0;
  /** The number of calls that are neither closed nor undone. */
  #openDrafts = 0;
  /** False after a kept capture was dropped because of a limit. */
  #isComplete = true;

  constructor({
    name = "files:memory",
    files = {},
    limits,
    protect = protectedNames,
    now = Date.now,
  }: MemoryFilesystemOptions = {}) {
    this.name = name;
    this.#now = now;
    this.#rules = { limits: { ...fileLimits, ...limits }, protect };
    this.contents = filesystemContents({ ...this.#rules, exclude: [] });
    for (const [path, content] of Object.entries(files)) {
      const file = { kind: "file", bytes: Buffer.from(content), modifiedMs: now() } as const;
      this.#tree = withMemoryNode(this.#tree, treePath(path, this.#rules.limits), file, now());
    }
  }

  async capture(tag: string, access: Access): Promise<Capture> {
    if (access === "watched")
      throw new FaultError(
        fault("RESOURCE_UNFIT", `no other program can change ${this.name}, so it cannot be watched`),
      );
    this.#assertNoneAbandoned();
    this.#captureCount += 1;
    this.#openDrafts += 1;
    const id = `${this.#instanceId}-${this.#captureCount}`;
    const tree = this.#tree;
    const capture: Capture = { resource: this.name, host: null, id, tag, access, digest: null, excluded: [] };
    const draft = new MemoryDraft(tree, this.#published.count, this.#now);
    this.#calls.set(id, { capture, draft, before: tree, after: tree, isKept: false });
    return capture;
  }

  async open(capture: Capture): Promise<Filesystem> {
    return createToolFilesystem(this.#findCall(capture).draft, this.#rules);
  }

  async close(capture: Capture): Promise<ResourceClosing> {
    const call = this.#findCall(capture);
    const { draft } = call;
    draft.assertOpen();
    if (this.#published.conflictsWith(draft)) {
      this.#endDraft(draft, "dropped");
      throw new FaultError(
        fault("RESOURCE_BUSY", "another call changed files that this call read or wrote; try it again"),
      );
    }
    const { writtenPaths } = draft;
    call.before = this.#tree;
    this.#tree = this.#published.count === draft.baseVersion ? draft.tree : draft.mergeInto(this.#tree);
    call.after = this.#tree;
    if (writtenPaths === "all" || writtenPaths.size > 0) this.#published.add(writtenPaths);
    this.#endDraft(draft, "published");
    // Moved to the end, so that the map is in the order of publication.
    this.#calls.delete(capture.id);
    this.#calls.set(capture.id, call);
    return closingReport(call);
  }

  async keep(capture: Capture): Promise<void> {
    const call = this.#findCall(capture);
    call.isKept = true;
    this.#abandoned.delete(call);
    const { keptCaptures, keptBytes } = this.#rules.limits;
    const kept = [...this.#calls.values()].filter(({ isKept }) => isKept);
    let bytes = 0;
    const last = kept.findLastIndex((call, at) => {
      bytes += sizeOfCall(call);
      return kept.length - at > keptCaptures || bytes > keptBytes;
    });
    for (const { capture: oldest } of kept.slice(0, last + 1)) this.#calls.delete(oldest.id);
    if (last >= 0) this.#isComplete = false;
  }

  async restore(capture: Capture): Promise<RestoreReport> {
    if (!this.#calls.has(capture.id) && !capture.id.startsWith(this.#instanceId)) {
      // Its changes were lost with the memory of its process.
      return { outcome: "nothing", digest: null, changed: 0 };
    }
    const call = this.#findCall(capture);
    const { before, draft } = call;
    const { state, writtenPaths } = draft;
    if (state === "published") {
      this.#assertNoneKeptAfter(capture);
      this.#tree = before;
      this.#published.add("all");
    }
    this.#endDraft(draft, "dropped");
    this.#abandoned.delete(call);
    const changed = writtenPaths === "all" ? 1 : writtenPaths.size;
    return { outcome: changed === 0 ? "nothing" : "restored", digest: null, changed };
  }

  #assertNoneAbandoned(): void {
    const [call] = this.#abandoned;
    if (call === undefined) return;
    const { id, tag } = call.capture;
    const message = `${this.name}: the call ${printablePath(tag)} is neither kept nor restored; its capture is ${id}`;
    throw new FaultError(fault("RESOURCE_BUSY", message, { capture: id }));
  }

  /** Throws if the call is not kept and a later one is: restoring it would also undo the later one. */
  #assertNoneKeptAfter({ id }: Capture): void {
    const calls = [...this.#calls.values()];
    const at = calls.findIndex(({ capture }) => capture.id === id);
    if (!calls[at]?.isKept && calls.slice(at + 1).some(({ isKept }) => isKept))
      throw new FaultError(
        fault("RESTORE_BLOCKED", `a call that is kept has changed ${this.name} since; nothing was restored`),
      );
  }

  async release(capture: Capture): Promise<void> {
    const found = this.#calls.get(capture.id);
    if (found === undefined) return;
    if (found.draft.state === "open") this.#endDraft(found.draft, "dropped");
    this.#abandoned.delete(found);
    this.#calls.delete(capture.id);
  }

  /** Drops an unpublished draft. A published call stays, because the journal decides about it. */
  async leave(capture: Capture): Promise<void> {
    const found = this.#calls.get(capture.id);
    if (found === undefined) return;
    if (found.draft.state !== "published") this.#endDraft(found.draft, "dropped");
    else if (!found.isKept) this.#abandoned.add(found);
  }

  async kept(): Promise<KeptCaptures> {
    const captures = [...this.#calls.values()].flatMap(({ capture, isKept }) => (isKept ? [capture] : []));
    return { captures, isComplete: this.#isComplete };
  }

  async rewind(capture: Capture, to: ResourceMoment): Promise<void> {
    this.#findCall(capture).draft.replaceTree(this.#treeAt(to));
  }

  async revert(capture: Capture, calls: readonly Capture[]): Promise<RevertReport> {
    const { draft } = this.#findCall(capture);
    const published = [...this.#calls.values()].filter(({ draft: { state } }) => state === "published");
    // The changes of a process that has ended were lost with its memory.
    const own = calls.map(({ id }) => id).filter((id) => id.startsWith(this.#instanceId));
    return revertCallsInMemory(published, new Set(own), draft);
  }

  /** Only calls of this process can be abandoned: the memory of another process ended with it. */
  async left(): Promise<AbandonedCapture | null> {
    const [call] = this.#abandoned;
    return call === undefined ? null : { capture: call.capture, isClosed: true };
  }

  async digest(): Promise<Digest> {
    return memoryDigest(this.#tree);
  }

  async revision(): Promise<string> {
    return `sha256:${memoryDigest(this.#tree)}`;
  }

  async diff(from: ResourceMoment | "now", to: ResourceMoment | "now"): Promise<readonly ResourceDifference[]> {
    return memoryChanges(this.#treeAt(from), this.#treeAt(to));
  }

  #treeAt(moment: ResourceMoment | "now"): MemoryDirectory {
    return moment === "now" ? this.#tree : this.#findCall(moment.capture)[moment.side];
  }

  /** The published versions are needed only while a draft is open. */
  #endDraft(draft: MemoryDraft, state: "published" | "dropped"): void {
    if (draft.state === "open") this.#openDrafts -= 1;
    draft.state = state;
    if (this.#openDrafts === 0) this.#published.clear();
  }

  #findCall(capture: Capture): MemoryCall {
    const found = this.#calls.get(capture.id);
    if (found === undefined)
      throw new FaultError(
        fault("CAPTURE_NOT_FOUND", `the capture ${capture.id} of ${this.name} was released, or its process has ended`),
      );
    return found;
  }
}

/** Returns the number of bytes that are stored only to undo the call. */
function sizeOfCall({ draft: { writtenPaths }, before }: MemoryCall): number {
  if (writtenPaths === "all") return 0;
  const sizes = [...writtenPaths].map((path) => {
    const node = memoryNodeAt(before, path.split("/"));
    return node?.kind === "file" ? node.bytes.length : 0;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Reports the changes of a call. If it wrote many paths, their contents are not compared. */
function closingReport({ draft, before, after }: MemoryCall): ResourceClosing {
  const { writtenPaths } = draft;
  if (writtenPaths === "all" || writtenPaths.size <= comparedPathsMax)
    return { digest: null, ...changeReport(memoryChanges(before, after)) };
  const changes = [...writtenPaths].sort().flatMap((path): ResourceChange[] => {
    const [was, is] = [before, after].map((tree) => memoryNodeAt(tree, path.split("/")) !== null);
    if (!was) return is ? [{ path, change: "added" }] : [];
    return [{ path, change: is ? "changed" : "removed" }];
  });
  return { digest: null, ...changeReport(changes) };
}

/** The paths of each published version, for the conflict check of calls that began before. */
class PublishedCalls {
  #versions: ({ readonly paths: ReadonlySet<string>; readonly parents: ReadonlySet<string> } | "all")[] = [];
  #clearedCount = 0;

  get count(): number {
    return this.#clearedCount + this.#versions.length;
  }

  add(writtenPaths: ReadonlySet<string> | "all"): void {
    if (writtenPaths === "all") this.#versions.push("all");
    else this.#versions.push({ paths: new Set(writtenPaths), parents: new Set([...writtenPaths].map(parentOf)) });
  }

  clear(): void {
    this.#clearedCount += this.#versions.length;
    this.#versions = [];
  }

  /** True if a version published after the draft was created contains a path that the draft read, listed or wrote. */
  conflictsWith({ baseVersion, readPaths, listedPaths, writtenPaths }: MemoryDraft): boolean {
    return this.#versions.slice(baseVersion - this.#clearedCount).some((version) => {
      if (version === "all") return true;
      const { paths, parents } = version;
      if (writtenPaths === "all") return true;
      return (
        [...readPaths, ...writtenPaths].some((path) => paths.has(path)) ||
        [...listedPaths].some((path) => parents.has(path))
      );
    });
  }
}

function parentOf(path: string): string {
  return path.split("/").slice(0, -1).join("/");
}
