import { randomUUID } from "node:crypto";
import { FaultError, fault } from "../core/fault.ts";
import type { Digest } from "../core/id.ts";
import type { Access, Capture, Closing, Resource, ResourceChange, RestoreReport } from "../core/resource.ts";
import { type FileLimits, fileLimits } from "./file-limits.ts";
import type { Filesystem } from "./filesystem.ts";
import { filesystemOver, type HouseRules } from "./filesystem-over.ts";
import { MemoryDraft } from "./memory-draft.ts";
import { digestOf, emptyDirectory, type MemoryDirectory, memoryChanges, withNode } from "./memory-tree.ts";
import { protectedNames, treePath } from "./tree-path.ts";

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
  readonly #kept = new Map<string, { readonly tree: MemoryDirectory; readonly draft: MemoryDraft }>();
  readonly #published = new Published();
  #tree = emptyDirectory;
  #count = 0;
  /** Calls that have neither ended nor been undone. */
  #working = 0;

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
    this.#count += 1;
    this.#working += 1;
    const id = `${this.#life}-${this.#count}`;
    const tree = this.#tree;
    this.#kept.set(id, { tree, draft: new MemoryDraft(tree, this.#published.count, this.#now) });
    return { resource: this.name, host: null, id, tag, access, digest: null, excluded: [] };
  }

  async open(capture: Capture): Promise<Filesystem> {
    return filesystemOver(this.#find(capture).draft, this.#rules);
  }

  async close(capture: Capture): Promise<Closing> {
    const { tree, draft } = this.#find(capture);
    draft.alive();
    if (this.#published.clash(draft)) {
      this.#end(draft, "dropped");
      throw new FaultError(fault("RESOURCE_BUSY", "another call changed what this one read or wrote; try it again"));
    }
    this.#tree = this.#published.count === draft.since ? draft.tree : draft.onto(this.#tree);
    if (draft.written.size > 0) this.#published.add(draft.written);
    this.#end(draft, "published");
    const changes = [...draft.written].sort().map((path) => ({ path, change: "changed" as const }));
    const told = changes.length > changesShown ? changes.slice(0, changesShown) : memoryChanges(tree, draft.tree);
    return { digest: null, changed: changes.length, changes: told };
  }

  async restore(capture: Capture): Promise<RestoreReport> {
    const { tree, draft } = this.#find(capture);
    const { state } = draft;
    if (state === "published") {
      this.#tree = tree;
      this.#published.add("all");
    }
    this.#end(draft, "dropped");
    const outcome = state === "dropped" || draft.written.size === 0 ? "nothing" : "restored";
    return { outcome, digest: null, changed: outcome === "nothing" ? 0 : draft.written.size };
  }

  async release(capture: Capture): Promise<void> {
    const found = this.#kept.get(capture.id);
    if (found?.draft.state === "open") this.#end(found.draft, "dropped");
    this.#kept.delete(capture.id);
  }

  async digest(): Promise<Digest> {
    return digestOf(this.#tree);
  }

  async diff(from: Capture, to: Capture | "now"): Promise<readonly ResourceChange[]> {
    const until = to === "now" ? this.#tree : this.#find(to).tree;
    return memoryChanges(this.#find(from).tree, until);
  }

  /** What was published is only of interest to calls that are still at work. */
  #end(draft: MemoryDraft, state: "published" | "dropped"): void {
    if (draft.state === "open") this.#working -= 1;
    draft.state = state;
    if (this.#working === 0) this.#published.forget();
  }

  #find(capture: Capture): { readonly tree: MemoryDirectory; readonly draft: MemoryDraft } {
    const found = this.#kept.get(capture.id);
    if (found === undefined)
      throw new FaultError(
        fault("CAPTURE_NOT_FOUND", `${capture.id} of ${this.name} is gone: it was released, or its process has ended`),
      );
    return found;
  }
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
      return [...seen, ...written].some((path) => paths.has(path)) || [...listed].some((path) => parents.has(path));
    });
  }
}

function parentOf(path: string): string {
  return path.split("/").slice(0, -1).join("/");
}
