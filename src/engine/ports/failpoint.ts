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
  "rollback.after",
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

export type Failpoint = (typeof failpoints)[number] | (typeof handoverFailpoints)[number];

export type Failpoints = (point: Failpoint) => void;
