import type { Pin } from "./event.ts";
import { dueAt, parkedForTools, type Run } from "./run.ts";

/** Someone who takes notices. A need for a tool has an @ in it. */
export const noticeNeed = "notice";

/** A tool as it was when the run was accepted. */
export function toolNeed(name: string, { version, schema_hash }: Pin): string {
  return `${name}@${version}:${schema_hash.slice(0, 16)}`;
}

/** So many are told of a run at once; those after them, when one of these was met. */
const NEEDS_MOST = 64;

const NONE: readonly string[] = [];

/**
 * What a run waits for that not every worker has; whoever has one of them can do something for it. None while there is
 * something to do for anyone: whoever takes the run for that sees what it needs then.
 */
export function needsOf(run: Run): readonly string[] {
  if (run.notices.size === run.kin && run.unserved.size === 0) return NONE;
  if (dueAt(run) === run.accepted_at) return NONE;
  const tools = run.ended === null && run.poison === null ? toolNeeds(run) : NONE;
  return run.notices.size > run.kin ? [noticeNeed, ...tools] : tools;
}

function toolNeeds(run: Run): readonly string[] {
  const needs = new Set<string>();
  for (const { spec, pin } of parkedForTools(run)) {
    if (pin !== null) needs.add(toolNeed(spec.name, pin));
    if (needs.size === NEEDS_MOST) break;
  }
  return [...needs];
}
