import type { Digest } from "../values/ids.ts";
import type { Json } from "../values/json.ts";
import type { RevertReport } from "./revert-report.ts";

/**
 * Data outside the journal that tools change: a working tree, files in memory. Recovery relies on these promises:
 * `capture` is durable before it resolves, so that every later change can be restored, also by another process on the
 * same host; `restore` may be called repeatedly, after a crash anywhere in it, until it resolves; a resource that
 * cannot promise this for something that it holds rejects the capture.
 *
 * The order of a call: capture → open → the handler → close → keep, once its success is recorded; or, however the
 * handler and close ended, → restore → release. Calls that share a resource run one after the other, from capture to
 * keep or release.
 */
export interface Resource<Handle = unknown> {
  /** Stable across restarts: `files:/srv/app`. */
  readonly name: string;
  /** The machine that holds the resource; null if every process can reach it. */
  readonly host: string | null;

  /**
   * Captures the current contents and keeps them until `release`. Rejects, before any tool is called, if they could not
   * be restored.
   */
  capture(tag: string, access: Access): Promise<Capture>;
  /** Returns the handle that the tool uses. */
  open(capture: Capture): Promise<Handle>;
  /**
   * Called when the handler has succeeded; its handle is no longer valid. Rejects if something still changes the
   * resource: then the call has failed. The result is recorded with the outcome.
   */
  close(capture: Capture): Promise<ResourceClosing>;
  /**
   * Called once the success of the call is recorded. The capture stays available as a checkpoint until too many are
   * kept.
   */
  keep(capture: Capture): Promise<void>;
  /**
   * Restores the captured contents. Later captures that are still kept are undone first, newest first. Rejects and
   * changes nothing if a change to be undone was not made by these calls. A repeated restore returns the same report,
   * until the capture is released. Rejects with CAPTURE_NOT_FOUND if the capture is lost.
   */
  restore(capture: Capture): Promise<RestoreReport>;
  /** Deletes a capture that is no longer needed. Captures are released oldest first; an unknown one is ignored. */
  release(capture: Capture): Promise<void>;
  /** Abandons the capture as if the process had died: the next process finds it with `left`. */
  leave(capture: Capture): Promise<void>;

  /** The captures that can be restored. */
  kept(): Promise<KeptCaptures>;
  /**
   * Restores the contents of an earlier moment, as a change made by the call that owns this capture: it is kept or
   * undone with that call. Rejects if it would undo a change from outside Writ.
   */
  rewind(capture: Capture, to: ResourceMoment): Promise<void>;
  /**
   * Puts back the paths that earlier calls changed, as they were before the first of them, as a change made by the call
   * that owns this capture. A path that another call or program has changed since stays as it is, and is reported.
   */
  revert(capture: Capture, calls: readonly Capture[]): Promise<RevertReport>;
  /** The capture of a call whose process died, or null. No other call may start until it is kept or restored. */
  left(): Promise<AbandonedCapture | null>;

  /** The digest of the current contents. Equal digests mean equal contents. */
  digest(): Promise<Digest>;
  /** The differences between two moments, ordered by path. */
  diff(from: ResourceMoment | "now", to: ResourceMoment | "now"): Promise<readonly ResourceDifference[]>;

  /**
   * Names the current contents, at a cost that does not grow with their size. Equal names mean equal contents, except
   * for changes from outside Writ. Absent: snapshots of the resource do not tell whether they are equal.
   */
  revision?(): Promise<string>;
  /** The contents as JSON, for snapshots. Absent: a snapshot contains none. */
  readonly contents?: ResourceContents<Handle>;
}

/** Reads and replaces the contents of a resource within a call, which is undone like any other if it fails. */
export interface ResourceContents<Handle> {
  read(handle: Handle): Promise<Json>;
  /** Returns why something is no contents of such a resource, or null. */
  problem(contents: Json): string | null;
  replace(handle: Handle, contents: Json): Promise<void>;
}

/**
 * The handles by the names of resources, for `context.resource(name)`. A program adds its own:
 * `declare module "writ" { interface ResourceHandles extends HandlesOf<typeof resources> {} }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: only an interface can be extended by a program.
export interface ResourceHandles {}

/** The handles of the resources that an engine is given. */
export type HandlesOf<Resources> = {
  readonly [Name in keyof Resources]: Resources[Name] extends Resource<infer Handle> ? Handle : never;
};

/** The moment directly before or after a call. */
export interface ResourceMoment {
  readonly capture: Capture;
  readonly side: "before" | "after";
}

export interface KeptCaptures {
  /** The oldest first. */
  readonly captures: readonly Capture[];
  /** True if no earlier capture was deleted to make room. */
  readonly isComplete: boolean;
}

export interface AbandonedCapture {
  readonly capture: Capture;
  /** True if `close` had completed. Only the journal shows whether the success was recorded. */
  readonly isClosed: boolean;
}

/**
 * How a tool accesses a resource. handle: only through its handle. raw: also directly, as a shell does. watched: another
 * program changes it while the call waits for that program. The changes are a checkpoint, and they are never restored
 * by themselves, also if the call fails.
 */
export type Access = "handle" | "raw" | "watched";

/** A restorable point as data: it is stored in an event and passed to the resource again after a restart. */
export interface Capture {
  readonly resource: string;
  readonly host: string | null;
  readonly id: string;
  readonly tag: string;
  readonly access: Access;
  /** Of the whole resource; null if computing it would read everything and it is not needed. */
  readonly digest: Digest | null;
  /** The names of the parts that are neither captured nor restored. */
  readonly excluded: readonly string[];
}

/** The changes that a call made. */
export interface ResourceClosing {
  readonly digest: Digest | null;
  /** The number of changed paths. `added` of them did not exist before, and `removed` do not exist any more. */
  readonly changed: number;
  readonly added: number;
  readonly removed: number;
  /** The first changes, for the journal. */
  readonly changes: readonly ResourceChange[];
}

export interface RestoreReport {
  /** `nothing`: there was nothing to restore. */
  readonly outcome: "restored" | "nothing";
  readonly digest: Digest | null;
  readonly changed: number;
}

export interface ResourceChange {
  readonly path: string;
  readonly change: "added" | "removed" | "changed";
}

/** A change with the sizes of the file, in bytes. Null: at that moment the path is no file. */
export interface ResourceDifference extends ResourceChange {
  readonly bytes: { readonly before: number | null; readonly after: number | null };
}
