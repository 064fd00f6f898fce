import type { Rules } from "../../core/call/guard.ts";
import { type Decision, decide } from "../../core/decide/decide.ts";
import type { Run } from "../../core/run/run.ts";
import { type Batch, newBatch, type QueuedCommand } from "./batch.ts";
import { needsOwnEntry, sharesGate } from "./needs-own-entry.ts";

/** Limits the size of an append. A thousand steps that end together still share a sync. */
const EVENTS_PER_APPEND_MAX = 1024;

/**
 * Takes waiting commands from the queue and decides them in order, into one entry. Answers a decision without events at
 * once, unless it follows one with events, on which it was decided. Returns null if no decision has events.
 */
export function decideBatch(queue: QueuedCommand[], run: Run, rules: Rules): Batch | null {
  let batch: Batch | null = null;
  for (let queued = queue[0]; queued !== undefined; queued = queue[0]) {
    const decision = decideQueued(queue, queued, batch?.after ?? run, rules);
    if (decision === null) continue;
    if (decision.events.length === 0 && batch === null) {
      queue.shift();
      queued.answer(decision);
      continue;
    }
    const alone = needsOwnEntry(decision);
    if (batch !== null && (alone || sharesGate(batch.events, decision.events))) break;
    batch ??= newBatch(run);
    queue.shift();
    batch.commands.push(queued);
    batch.decisions.push(decision);
    batch.events.push(...decision.events);
    batch.after = decision.after;
    if (alone || batch.events.length >= EVENTS_PER_APPEND_MAX) break;
  }
  return batch;
}

function decideQueued(queue: QueuedCommand[], queued: QueuedCommand, run: Run, rules: Rules): Decision | null {
  try {
    return decide(run, queued.make(run), rules);
  } catch (error) {
    queue.shift();
    queued.refuse(error);
    return null;
  }
}
