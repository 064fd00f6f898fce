/**
 * Every place on the road where a process can die between two facts. In production nothing listens;
 * a proof passes in a listener that kills the process there.
 */
export const failpoints = [
  "accept.before",
  "accept.after",
  "claim.after",
  "start.before",
  "start.after",
  "mark.after",
  "tool.after",
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
  "settle.before",
  "settle.after",
  "notice.before",
  "notice.after",
  "release.before",
] as const;

export type Failpoint = (typeof failpoints)[number];

export type Failpoints = (point: Failpoint) => void;
