import { randomUUID } from "node:crypto";
import { FaultError, fault } from "../core/fault.ts";
import type { Digest } from "../core/id.ts";
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
} from "../core/resource.ts";
import { type FileLimits, fileLimits } from "./file-limits.ts";
import type { Filesystem } from "./filesystem.ts";
import { filesystemOver, type HouseRules } from "./filesystem-over.ts";
import { MemoryDraft } from "./memory-draft.ts";
import { digestOf, emptyDirectory, type MemoryDirectory, memoryChanges, nodeAt, withNode } from "./memory-tree.ts";
import { protectedNames, shown, treePath } from "./tree-path.ts";

export interface MemoryFilesystemOptions {
  /** Stable across restarts, and another for each that an engine is given. Default: `files:memory`. */
  readonly name?: string;
  /** What is there to begin with, by path. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly limits?: Partial<FileLimits>;
  readonly protect?: readonly string[];
  readonly now?: () => number;
}

const changesShown = 100;

/**
 * Files that are gone with the process. A call works on a draft: snapshots and rollbacks cost nothing, at any number of files,
 * and calls beside each other do not see what the others have not published. One that read or wrote what another has published
 * since is refused (RESOURCE_BUSY) and may be tried again.
 */
export class MemoryFilesystem implements Resource<Filesystem> {
  readonly name: string;
  readonly host = null;
  readonly #life = randomUUID();
  readonly #rules: HouseRules;
  readonly #now: () => number;
  readonly #calls = new Map<string, Call>();
  readonly #published = new Published();
  /** Published, and given up by whoever called: whether they stand is for the record to say. */
  readonly #left = new Set<Call>();
  #tree = emptyDirectory;
  #count = 0;
  /** Calls that have neither ended nor been undone. */
  #working = 0;
  /** None that could be gone back to made room for another. */
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
    for (const [path, content] of Object.entries(files)) {
      const file = { kind: "file", bytes: Buffer.from(content), modifiedMs: now() } as const;
      this.#tree = withNode(this.#tree, treePath(path, this.#rules.limits), file, now());
    }
  }

  async capture(tag: string, access: Access): Promise<Capture> {
    this.#mustBeSettled();
    this.#count += 1;
    this.#working += 1;
    const id = `${this.#life}-${this.#count}`;
    const tree = this.#tree;
    const capture: Capture = { resource: this.name, host: null, id, tag, access, digest: null, excluded: [] };
    const draft = new MemoryDraft(tree, this.#published.count, this.#now);
    this.#calls.set(id, { capture, draft, before: tree, after: tree, isKept: false });
    return capture;
  }

  async open(capture: Capture): Promise<Filesystem> {
    return filesystemOver(this.#find(capture).draft, this.#rules);
  }

  async close(capture: Capture): Promise<Closing> {
    const call = this.#find(capture);
    const { draft } = call;
    draft.alive();
    if (this.#published.clash(draft)) {
      this.#end(draft, "dropped");
      throw new FaultError(fault("RESOURCE_BUSY", "another call changed what this one read or wrote; try it again"));
    }
    const { written } = draft;
    call.before = this.#tree;
    this.#tree = this.#published.count === draft.since ? draft.tree : draft.onto(this.#tree);
    call.after = this.#tree;
    if (written === "all" || written.size > 0) this.#published.add(written);
    this.#end(draft, "published");
    // In the order in which they were published, whoever began first.
    this.#calls.delete(capture.id);
    this.#calls.set(capture.id, call);
    return closingOf(call);
  }

  async keep(capture: Capture): Promise<void> {
    const call = this.#find(capture);
    call.isKept = true;
    this.#left.delete(call);
    const { keptCaptures, keptBytes } = this.#rules.limits;
    const kept = [...this.#calls.values()].filter(({ isKept }) => isKept);
    let bytes = 0;
    const last = kept.findLastIndex((call, at) => {
      bytes += weightOf(call);
      return kept.length - at > keptCaptures || bytes > keptBytes;
    });
    for (const { capture: oldest } of kept.slice(0, last + 1)) this.#calls.delete(oldest.id);
    if (last >= 0) this.#isComplete = false;
  }

  async restore(capture: Capture): Promise<RestoreReport> {
    const call = this.#find(capture);
    const { before, draft } = call;
    const { state, written } = draft;
    if (state === "published") {
      this.#mustBeLast(capture);
      this.#tree = before;
      this.#published.add("all");
    }
    this.#end(draft, "dropped");
    this.#left.delete(call);
    const changed = written === "all" ? 1 : written.size;
    return { outcome: changed === 0 ? "nothing" : "restored", digest: null, changed };
  }

  #mustBeSettled(): void {
    const [call] = this.#left;
    if (call === undefined) return;
    const { id, tag } = call.capture;
    const message = `${this.name}: the call ${shown(tag)} was neither kept nor undone; its capture is ${id}`;
    throw new FaultError(fault("RESOURCE_BUSY", message, { capture: id }));
  }

  /** What came after a call is undone with it; but not what stands, with one that does not. */
  #mustBeLast({ id }: Capture): void {
    const calls = [...this.#calls.values()];
    const at = calls.findIndex(({ capture }) => capture.id === id);
    if (!calls[at]?.isKept && calls.slice(at + 1).some(({ isKept }) => isKept))
      throw new FaultError(
        fault("RESTORE_BLOCKED", `${this.name} was changed since by a call that stands; nothing was touched`),
      );
  }

  async release(capture: Capture): Promise<void> {
    const found = this.#calls.get(capture.id);
    if (found === undefined) return;
    if (found.draft.state === "open") this.#end(found.draft, "dropped");
    this.#left.delete(found);
    this.#calls.delete(capture.id);
  }

  /** What nobody has published is gone with whoever gives it up. */
  async leave(capture: Capture): Promise<void> {
    const found = this.#calls.get(capture.id);
    if (found?.draft.state !== "published") return this.release(capture);
    if (!found.isKept) this.#left.add(found);
  }

  async kept(): Promise<KeptCaptures> {
    const captures = [...this.#calls.values()].flatMap(({ capture, isKept }) => (isKept ? [capture] : []));
    return { captures, isComplete: this.#isComplete };
  }

  async rewind(capture: Capture, to: Moment): Promise<void> {
    this.#find(capture).draft.become(this.#treeAt(to));
  }

  /** What another process had in memory is gone with it; what this one gave up is not. */
  async left(): Promise<Left | null> {
    const [call] = this.#left;
    return call === undefined ? null : { capture: call.capture, isClosed: true };
  }

  async digest(): Promise<Digest> {
    return digestOf(this.#tree);
  }

  async diff(from: Moment | "now", to: Moment | "now"): Promise<readonly ResourceChange[]> {
    return memoryChanges(this.#treeAt(from), this.#treeAt(to));
  }

  #treeAt(moment: Moment | "now"): MemoryDirectory {
    return moment === "now" ? this.#tree : this.#find(moment.capture)[moment.side];
  }

  /** What was published is only of interest to calls that are still at work. */
  #end(draft: MemoryDraft, state: "published" | "dropped"): void {
    if (draft.state === "open") this.#working -= 1;
    draft.state = state;
    if (this.#working === 0) this.#published.forget();
  }

  #find(capture: Capture): Call {
    const found = this.#calls.get(capture.id);
    if (found === undefined)
      throw new FaultError(
        fault("CAPTURE_NOT_FOUND", `${capture.id} of ${this.name} is gone: it was released, or its process has ended`),
      );
    return found;
  }
}

interface Call {
  readonly capture: Capture;
  readonly draft: MemoryDraft;
  /** What it was published upon, and what came of that. */
  before: MemoryDirectory;
  after: MemoryDirectory;
  isKept: boolean;
}

/** What is only there to go back over it. */
function weightOf({ draft: { written }, before }: Call): number {
  if (written === "all") return 0;
  const sizes = [...written].map((path) => {
    const node = nodeAt(before, path.split("/"));
    return node?.kind === "file" ? node.bytes.length : 0;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Of many changes it is not told what each was. */
function closingOf({ draft, before, after }: Call): Closing {
  const { written } = draft;
  if (written !== "all" && written.size > changesShown) {
    const changes = [...written].sort().map((path) => ({ path, change: "changed" as const }));
    return { digest: null, changed: changes.length, changes: changes.slice(0, changesShown) };
  }
  const changes = memoryChanges(before, after);
  const changed = written === "all" ? changes.length : written.size;
  return { digest: null, changed, changes: changes.slice(0, changesShown) };
}

/** What has been published, for calls that began before. */
class Published {
  #versions: ({ readonly paths: ReadonlySet<string>; readonly parents: ReadonlySet<string> } | "all")[] = [];
  #forgotten = 0;

  get count(): number {
    return this.#forgotten + this.#versions.length;
  }

  add(written: ReadonlySet<string> | "all"): void {
    if (written === "all") this.#versions.push("all");
    else this.#versions.push({ paths: new Set(written), parents: new Set([...written].map(parentOf)) });
  }

  forget(): void {
    this.#forgotten += this.#versions.length;
    this.#versions = [];
  }

  /** Whether a call saw or wrote something that another published since it began. */
  clash({ since, seen, listed, written }: MemoryDraft): boolean {
    return this.#versions.slice(since - this.#forgotten).some((version) => {
      if (version === "all") return true;
      const { paths, parents } = version;
      if (written === "all") return true;
      return [...seen, ...written].some((path) => paths.has(path)) || [...listed].some((path) => parents.has(path));
    });
  }
}

function parentOf(path: string): string {
  return path.split("/").slice(0, -1).join("/");
}
