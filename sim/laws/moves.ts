import type { Run, Step } from "../../src/core/run.ts";
import type { State } from "../../src/core/step.ts";
import type { Fact } from "../record.ts";

/** Where a step may go from where it is, as the design says it; told again here so that the law is not its own judge. */
const begun: readonly State[] = ["running", "succeeded", "failed_retryable", "failed_final"];
const held: readonly State[] = ["waiting_approval", "waiting", "rejected"];
const moves: Readonly<Record<State, readonly State[]>> = {
  pending: ["ready", "skipped", "cancelled"],
  ready: [...begun, ...held, "skipped", "cancelled", "in_doubt"],
  waiting_approval: ["ready", "rejected", "skipped", "cancelled"],
  waiting: [...begun, ...held, "ready", "skipped", "cancelled", "in_doubt"],
  running: ["succeeded", "failed_retryable", "failed_final", "in_doubt", "ready", "cancelled", "skipped"],
  failed_retryable: [...begun, ...held, "skipped", "cancelled"],
  in_doubt: ["succeeded", "ready", "failed_final", "compensating", "cancelled", "skipped", "in_doubt"],
  succeeded: ["compensating"],
  failed_final: ["compensating", "succeeded", "pending", "ready"],
  rejected: ["pending", "ready"],
  skipped: ["pending", "ready"],
  cancelled: [],
  compensating: ["compensated", "compensation_failed"],
  compensated: [],
  compensation_failed: ["compensating"],
};

/** A step that has come to its end. */
const done: readonly State[] = ["succeeded", "failed_final", "rejected", "skipped", "cancelled", "compensated"];

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
  if (done.includes(is) && (to.act?.state === "started" || to.act?.state === "in_doubt")) {
    return `its act is ${to.act.state}`;
  }
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
