import type { Run, Step } from "../../src/core/run.ts";
import type { State } from "../../src/core/step.ts";
import type { Fact } from "../record.ts";

/** Where a step may go from where it is, as the design says it; told again here so that the law is not its own judge. */
const moves: Readonly<Record<State, readonly State[]>> = {
  pending: ["ready", "skipped", "cancelled"],
  ready: [
    "running",
    "waiting_approval",
    "waiting",
    "rejected",
    "skipped",
    "cancelled",
    "succeeded",
    "failed_retryable",
    "failed_final",
  ],
  waiting_approval: ["ready", "rejected", "skipped", "cancelled"],
  waiting: [
    "ready",
    "running",
    "waiting",
    "waiting_approval",
    "rejected",
    "skipped",
    "cancelled",
    "succeeded",
    "failed_retryable",
    "failed_final",
  ],
  running: ["succeeded", "failed_retryable", "failed_final", "in_doubt", "ready", "cancelled"],
  failed_retryable: [
    "running",
    "waiting_approval",
    "waiting",
    "rejected",
    "skipped",
    "cancelled",
    "succeeded",
    "failed_retryable",
    "failed_final",
  ],
  in_doubt: ["succeeded", "ready", "failed_final", "compensating", "cancelled", "in_doubt"],
  succeeded: ["compensating"],
  failed_final: ["compensating", "succeeded", "pending", "ready"],
  rejected: ["pending", "ready"],
  skipped: ["pending", "ready"],
  cancelled: [],
  compensating: ["compensated", "compensation_failed"],
  compensated: [],
  compensation_failed: ["compensating"],
};

/** I3, I9: every step that an event moves, moves as it may; what has ended stays ended, unless a person asks. */
export function judgeMoves({ scene, before, event, after }: Fact): void {
  for (let index = 0; index < before.steps.length; index += 1) {
    const from = before.steps.get(index);
    const to = after.steps.get(index);
    if (from.standing === to.standing) continue;
    const wrong = wrongMove(from, to, event.type, after);
    if (wrong !== null) {
      const how = `${from.standing.state} → ${to.standing.state} by ${event.type}`;
      scene.violate(`I3: ${before.id} ${to.spec.step_id} went ${how}: ${wrong}`);
    }
  }
}

function wrongMove(from: Step, to: Step, type: string, run: Run): string | null {
  const [was, is] = [from.standing.state, to.standing.state];
  if (was === is && was === "cancelled") return null;
  if (!moves[was].includes(is)) return "no such move";
  if ((was === "rejected" || was === "skipped") && type !== "run.resumed" && from.cause?.by !== "undo")
    return "only resuming brings it back";
  if (was === "failed_final") return wrongRevival(from, is, type);
  const acts = from.act !== null && from.act.state === "started";
  if (was === "running" && is === "cancelled" && acts && type !== "step.settled")
    return "an act in flight is never cancelled";
  if (was === "in_doubt" && is === "cancelled" && (type !== "step.settled" || run.cancel === null))
    return "doubt is never cancelled";
  if (is === "running" || is === "succeeded") return wrongOrder(to, run);
  return null;
}

function wrongRevival({ act, cause }: Step, is: State, type: string): string | null {
  if (is === "compensating") return type === "step.compensating" ? null : "only undoing does that";
  if (is === "succeeded") return type === "step.settled" ? null : "only a person says so";
  if (cause?.by === "undo") return null;
  if (type !== "run.resumed") return "only resuming brings it back";
  return act === null || act.state === "not_done" || act.state === "absent" ? null : `its act is ${act.state}`;
}

const ran: readonly State[] = ["succeeded", "compensating", "compensated", "compensation_failed"];

function wrongOrder({ spec }: Step, run: Run): string | null {
  const early = spec.depends_on.find((id) => !ran.includes(run.steps.get(run.index.get(id) as number).standing.state));
  return early === undefined ? null : `${early} comes first`;
}
