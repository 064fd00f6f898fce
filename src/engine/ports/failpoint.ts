/**
 * The points where a crash of the process leaves a distinct state on record. In production no listener is set. Crash
 * tests pass a listener that kills the process at one of them.
 */
export const failpoints = [
  "accept.before",
  "accept.after",
  "claim.after",
  "start.before",
  "start.after",
  "mark.after",
  "begin.after",
  "tool.after",
  "results.before",
  "verb.before",
  "verb.after",
  "close.after",
  "restore.before",
  "restore.after",
  "end.after",
  "rewind.after",
  "keep.before",
  "gate.after",
  "approve.before",
  "approve.after",
  "recover.before",
  "recover.after",
  "confirm.before",
  "confirm.after",
  "settle.before",
  "settle.after",
  "notice.before",
  "notice.after",
  "release.before",
] as const;

/** The points of a hand-over, which needs two processes. */
export const handoverFailpoints = ["handover.asked", "handover.before"] as const;

<<<<<<< HEAD
/** The point after which a host may do the work of a call itself. */
export type SessionFailpoint = "begin.after";

export type Failpoint = (typeof failpoints)[number] | (typeof handoverFailpoints)[number] | SessionFailpoint;
=======
export type Failpoint = (typeof failpoints)[number] | (typeof handoverFailpoints)[number];
>>>>>>> 66830b7 (crash: an open run is killed at every point, also while its host works)

export type Failpoints = (point: Failpoint) => void;
