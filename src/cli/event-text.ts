import type { Settlement } from "../core/event/doubt-settlement.ts";
import type { Event, GateEvent, RunEvent, StepEvent } from "../core/event/event.ts";
import type { Parking } from "../core/event/step-parking.ts";
import type { UndoneAct } from "../core/event/undone-act.ts";
import type { VerifiedAct } from "../core/event/verified-act.ts";
import { utcText } from "../core/time/utc-text.ts";
import type { Fault } from "../core/values/fault.ts";
import { line, shortValue, type TextLine } from "./text-line.ts";
import type { TextStyle } from "./text-style.ts";
import { timeText } from "./time-text.ts";

/** Returns an event as one line: its subject, and what happened. */
export function eventLine(event: Event, style: TextStyle): TextLine {
  if ("gate_id" in event) return line`${eventSubject("gate", style)} ${gateText(event)}`;
  if ("step_id" in event) return line`${eventSubject(event.step_id, style)} ${stepText(event, style)}`;
  return line`${eventSubject("run", style)} ${runText(event)}`;
}

function eventSubject(what: string, { bold }: TextStyle): TextLine {
  return line`${what}`.painted(bold);
}

function runText(event: RunEvent): TextLine {
  switch (event.type) {
    case "run.accepted":
      return line`${event.run_id} accepted from ${event.principal.kind} ${event.principal.id}, ${event.mode}`;
    case "run.refused":
      return line`refused: ${faultText(event.fault)}`;
    case "run.closed":
      return line`closed by ${event.by} as ${event.as}${reasonSuffix(event.reason)}`;
    case "run.released":
      return line`released by ${event.by}; it takes more calls`;
    case "run.turn_finished":
      return line`a turn${event.lane === null ? "" : ` of lane ${event.lane}`} is finished`;
    case "run.branched":
      return line`branched in lane ${event.lane}: ${event.dropped.join(", ")} are not replayed; acts before it: ${event.acts.join(", ") || "none"}`;
    case "run.sub_agent_left":
      return line`left the sub-agent of run ${event.child}; its acts: ${event.acts.map(({ run_id, step_id }) => `${run_id}/${step_id}`).join(", ") || "none"}`;
    case "cancel.requested":
      return line`cancelled by ${event.by}${reasonSuffix(event.reason)}`;
    case "run.restored":
      return line`restored from a backup${event.backup_at === null ? "" : ` of ${utcText(event.backup_at)}`} by ${event.by}${reasonSuffix(event.reason)}`;
    case "run.resumed":
      return line`resumed by ${event.by}${reasonSuffix(event.reason)}`;
    case "run.taken":
      return line`taken over by ${event.by} from ${event.from}, which did not release it; running: ${event.steps.join(", ")}`;
    case "run.rules_adopted":
      return line`continued by ${event.by} under other rules: ${event.to.slice(0, 12)}, before ${event.from?.slice(0, 12) ?? "unknown"}`;
    case "run.parked":
      return line`parked: its rules are pinned, and no live worker has them (found ${event.to.slice(0, 12)})`;
    case "run.poisoned":
      return line`parked: several workers in a row lost it, and it made no progress`;
    case "run.ended":
      return line`${event.as ?? event.status}`;
    case "run.undone":
      return line`undone by ${event.by}${reasonSuffix(event.reason)}: ${undoneText(event.acts)}`;
    case "run.verified":
      return line`verified${event.by === null ? "" : ` for ${event.by}`}${reasonSuffix(event.reason)}: ${verifiedText(event.acts)}`;
    case "state.restored":
      return line`state restored to version ${event.to} by ${event.by}${reasonSuffix(event.reason)}`;
    case "budget.alerted":
      return line`${event.level} % of the ${event.unit} per ${event.per} is used: ${event.used} of ${event.limit}`;
    case "notice.delivered":
      return line`notice ${event.notice_id} delivered`;
    case "notice.withdrawn":
      return line`notice ${event.notice_id} withdrawn: no worker delivered it before the run was erased`;
  }
}

function stepText(event: StepEvent, style: TextStyle): TextLine {
  switch (event.type) {
    case "step.proposed":
      return line`proposed: ${event.step.name}`;
    case "step.started":
      return line`started${attemptSuffix(event.attempt)}`;
    case "step.succeeded":
      return line`succeeded${event.reused === undefined ? "" : ` (recorded by ${event.reused.run})`}: ${shortValue(event.output)}`;
    case "step.failed":
      return line`failed${event.retry_at === null ? "" : `, retried at ${timeText(event.retry_at, style)}`}: ${faultText(event.fault)}`;
    case "step.cancelled":
      return line`cancelled`;
    case "step.doubted":
      return line`in doubt: ${faultText(event.fault)}`;
    case "step.probed":
      return line`verified: ${event.saw}, ${event.why}`;
    case "step.settled":
      return line`settled by ${event.by}: ${settlementText(event.settled)}${reasonSuffix(event.reason)}`;
    case "step.restoring":
      return line`failed, its changes are being reverted: ${faultText(event.fault)}`;
    case "step.restored":
      return line`changes reverted`;
    case "step.readied":
      return line`ready: ${event.why}`;
    case "step.rejected":
      return line`rejected: ${faultText(event.fault)}`;
    case "step.parked":
      return line`waits for ${parkedText(event.on, style)}`;
    case "step.compensating":
      return line`being undone by ${event.by}${reasonSuffix(event.reason)}`;
    case "step.compensated":
      return line`undone${event.confirmed ? " and confirmed" : ", unconfirmed"}`;
    case "step.uncompensated":
      return line`could not be undone: ${faultText(event.fault)}`;
    case "step.superseded":
      return line`replaced by ${event.by.run}, ${event.by.step}`;
    case "step.delegated":
      return line`done by the sub-agent of run ${event.run_id}`;
    case "step.delivered":
      return line`answer delivered to ${event.to}`;
    case "evidence.kept":
      return line`answered too late: ${shortValue(event.evidence)}`;
  }
}

function gateText(event: GateEvent): TextLine {
  switch (event.type) {
    case "gate.opened":
      return line`${event.gate_id} holds ${event.step_id}: ${event.reason}`;
    case "gate.approved":
      return line`${event.gate_id} approved by ${event.by.id}${reasonSuffix(event.reason)}`;
    case "gate.endorsed":
      return line`${event.gate_id}: approved by ${event.by.id}, more approvals needed${reasonSuffix(event.reason)}`;
    case "gate.amended":
      return line`${event.gate_id}: approved by ${event.by.id} with another input${reasonSuffix(event.reason)}: ${shortValue(event.call.input)}`;
    case "gate.escalated":
      return line`${event.gate_id} escalated to more approvers`;
    case "gate.rejected":
      return line`${event.gate_id} rejected by ${event.by.id}${reasonSuffix(event.reason)}`;
    case "gate.expired":
      return line`${event.gate_id} expired`;
    case "gate.closed":
      return line`${event.gate_id} closed${reasonSuffix(event.reason)}`;
    case "gate.contested":
      return line`${event.gate_id} not decided: ${faultText(event.fault)}`;
  }
}

function settlementText(settled: Settlement): TextLine {
  switch (settled.as) {
    case "happened":
      return line`it happened: ${shortValue(settled.output)}`;
    case "not_done":
    case "absent":
      return line`it did not happen`;
    case "resend":
      return line`sent again under the same key`;
    case "given_up":
      return line`given up`;
  }
}

function parkedText(on: Parking, style: TextStyle): TextLine {
  switch (on.for) {
    case "time":
      return line`a time, ${timeText(on.until, style)}`;
    case "key":
      return line`the same act in ${on.owner}`;
    case "signal":
      return line`the signal ${on.box.key}${on.until === null ? line`` : line`, until ${timeText(on.until, style)}`}`;
    case "rate":
      return line`the rate limit, ${timeText(on.until, style)}: ${on.tally} is used up`;
    case "halt":
      return line`the end of a halt: ${on.halt.by} halted ${on.halt.over}${reasonSuffix(on.halt.reason)}`;
    case "tool":
      return line`its tool: ${faultText(on.fault)}`;
  }
}

function undoneText(acts: readonly UndoneAct[]): string {
  return acts.length === 0 ? "no acts" : acts.map(({ step_id, undone }) => `${step_id} ${undone}`).join(", ");
}

function verifiedText(acts: readonly VerifiedAct[]): string {
  const texts = acts.map(({ step_id, found, why }) => `${step_id} ${found.replace("_", " ")}${why ? ` (${why})` : ""}`);
  return texts.length === 0 ? "no acts" : texts.join(", ");
}

function faultText({ code, message }: Fault): TextLine {
  return line`${code}: ${message}`;
}

const reasonSuffix = (reason: string): TextLine => (reason === "" ? line`` : line` (${reason})`);
const attemptSuffix = (attempt: number): TextLine => (attempt === 1 ? line`` : line`, attempt ${attempt}`);
