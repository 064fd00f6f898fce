import type { Verb } from "../../core/approval/verb-rules.ts";

/**
 * The verbs that call a built-in tool with their name. take: captures every resource, so its call is a moment that can
 * be restored. load: for a snapshot with resources or logs.
 */
export const snapshotVerbs = { take: "checkpoints.take", load: "checkpoints.load" } as const satisfies Record<
  string,
  Verb
>;
