import type { Digest } from "./id.ts";

/**
 * Something beside the journal that a tool changes: a working tree, files in memory. What recovery rests on:
 * `capture` is durable before it answers, so that whatever is changed after it can be put back, also by another process of the
 * same host; `restore` may be called again and again, after a crash anywhere in it, until it answers; a resource that cannot
 * promise this for something that it holds refuses the capture.
 *
 * A call's life: capture → open → the handler → close → keep, once it is on record that it ended well; or, whatever became of the
 * handler and of close, → restore → release. Calls that share a resource take turns, from capture to the end of that.
 */
export interface Resource<Handle = unknown> {
  /** Stable across restarts: `files:/srv/app`. */
  readonly name: string;
  /** The machine that it is bound to; null: it is wherever the process is. */
  readonly host: string | null;

  /** How it stands now, kept until it is released. Rejects, before any tool is called, if it could not be put back. */
  capture(tag: string, access: Access): Promise<Capture>;
  /** What the tool works with. */
  open(capture: Capture): Promise<Handle>;
  /**
   * The handler has ended well, and nothing more may come through its handle. Rejects if something still changes the resource:
   * then the call has failed. What it answers goes on the record with the outcome.
   */
  close(capture: Capture): Promise<Closing>;
  /** That the call ended well is on record: it can be gone back to, until there are too many such. */
  keep(capture: Capture): Promise<void>;
  /**
   * Puts everything back as it was when it was captured. Captures that were made after it and are still kept are undone first, newest first.
   * Rejects if what it would have to undo is not the work of these calls, and touches nothing then. Asked again, it says the same.
   */
  restore(capture: Capture): Promise<RestoreReport>;
  /** Never asked for again; oldest first. Harmless for one that is gone. */
  release(capture: Capture): Promise<void>;
  /** As if the process had died: whoever comes next finds it with `left`. */
  leave(capture: Capture): Promise<void>;

  /** What can be gone back to. */
  kept(): Promise<KeptCaptures>;
  /**
   * In the hands of the call that has this capture, makes everything what it was at a moment before: a change like any other, which is
   * kept or undone with the call. Rejects if that would undo somebody else's work.
   */
  rewind(capture: Capture, to: Moment): Promise<void>;
  /** A call that its process died at, if there is one: until it is kept or restored nobody else may begin. */
  left(): Promise<Left | null>;

  /** The whole of it, as it stands. Equal digests are equal contents. */
  digest(): Promise<Digest>;
  /** What is different between two moments, in the order of the paths. */
  diff(from: Moment | "now", to: Moment | "now"): Promise<readonly ResourceChange[]>;
}

/** Right before or right after a call. */
export interface Moment {
  readonly capture: Capture;
  readonly side: "before" | "after";
}

export interface KeptCaptures {
  /** The oldest first. */
  readonly captures: readonly Capture[];
  /** None before these was let go of to make room. */
  readonly isComplete: boolean;
}

export interface Left {
  readonly capture: Capture;
  /** The call had ended well by then. Whether that is on record is for the record to say. */
  readonly isClosed: boolean;
}

/** How a tool gets at a resource: only through the handle it is given, or also past it, as a shell does. */
export type Access = "handle" | "raw";

/** A point to come back to, as data: it is stored in an event and handed back after a restart. */
export interface Capture {
  readonly resource: string;
  readonly host: string | null;
  readonly id: string;
  readonly tag: string;
  readonly access: Access;
  /** Of the whole resource; null where that would mean reading all of it and nothing asks for it. */
  readonly digest: Digest | null;
  /** What is not captured and never touched, by name. */
  readonly excluded: readonly string[];
}

/** What a call left behind. */
export interface Closing {
  readonly digest: Digest | null;
  readonly changed: number;
  /** The first of them, for the record. */
  readonly changes: readonly ResourceChange[];
}

export interface RestoreReport {
  /** `nothing`: there was nothing to put back. */
  readonly outcome: "restored" | "nothing";
  readonly digest: Digest | null;
  readonly changed: number;
}

export interface ResourceChange {
  readonly path: string;
  readonly change: "added" | "removed" | "changed";
}
