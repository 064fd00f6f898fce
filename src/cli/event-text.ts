import type { Event, GateEvent, RunEvent, Settlement, StepEvent, UndoneAct } from "../core/event.ts";
import type { Fault } from "../core/fault.ts";
import type { Parking } from "../core/parking.ts";
import { glance, type Line, line } from "./line.ts";
import { timeText } from "./result-text.ts";
import type { Paint } from "./terminal.ts";

/** An event as one line: what it is about, and what happened. */
export function eventLine(event: Event, paint: Paint): Line {
  if ("gate_id" in event) return line`${about("gate", paint)} ${gateText(event)}`;
  if ("step_id" in event) return line`${about(event.step_id, paint)} ${stepText(event)}`;
  return line`${about("run", paint)} ${runText(event)}`;
}

function about(what: string, { bold }: Paint): Line {
  return line`${what}`.painted(bold);
}

function runText(event: RunEvent): Line {
  switch (event.type) {
    case "run.accepted":
      return line`${event.run_id} accepted from ${event.principal.kind} ${event.principal.id}, ${event.mode}`;
    case "run.closed":
      return line`takes no more steps`;
    case "cancel.requested":
      return line`cancelled by ${event.by}${because(event.reason)}`;
    case "run.resumed":
      return line`resumed by ${event.by}${because(event.reason)}`;
    case "run.taken":
      return line`taken by ${event.by} from ${event.from}, which never let it go; under way: ${event.steps.join(", ")}`;
    case "run.poisoned":
      return line`parked: its workers were lost one after the other, and nothing came of it`;
    case "run.ended":
      return line`${event.status}`;
    case "run.undone":
      return line`undone by ${event.by}${because(event.reason)}: ${undoneText(event.acts)}`;
    case "state.restored":
      return line`state is again what it was at version ${event.to}, restored by ${event.by}${because(event.reason)}`;
    case "budget.alerted":
      return line`${event.level} % of the ${event.unit} per ${event.per} are used up: ${event.used} of ${event.limit}`;
    case "notice.delivered":
      return line`notice ${event.notice_id} delivered`;
  }
}

function stepText(event: StepEvent): Line {
  switch (event.type) {
    case "step.proposed":
      return line`proposed: ${event.step.name}`;
    case "step.started":
      return line`started${again(event.attempt)}`;
    case "step.succeeded":
      return line`succeeded${event.reused === undefined ? "" : ` (recorded by ${event.reused.run})`}: ${glance(event.output)}`;
    case "step.failed":
      return line`failed${event.retry_at === null ? "" : `, again at ${timeText(event.retry_at)}`}: ${faultText(event.fault)}`;
    case "step.cancelled":
      return line`cancelled`;
    case "step.doubted":
      return line`in doubt: ${faultText(event.fault)}`;
    case "step.probed":
      return line`looked for: ${event.saw}, ${event.why}`;
    case "step.settled":
      return line`settled by ${event.by}: ${settledText(event.settled)}${because(event.reason)}`;
    case "step.restoring":
      return line`failed, and what it changed is put back: ${faultText(event.fault)}`;
    case "step.restored":
      return line`put back`;
    case "step.readied":
      return line`ready: ${event.why}`;
    case "step.rejected":
      return line`rejected: ${faultText(event.fault)}`;
    case "step.parked":
      return line`waits for ${parkedText(event.on)}`;
    case "step.compensating":
      return line`being undone for ${event.by}${because(event.reason)}`;
    case "step.compensated":
      return line`undone${event.confirmed ? " and confirmed" : ", unconfirmed"}`;
    case "step.uncompensated":
      return line`could not be undone: ${faultText(event.fault)}`;
    case "step.superseded":
      return line`done again by ${event.by.run}, ${event.by.step}`;
    case "evidence.kept":
      return line`answered too late: ${glance(event.evidence)}`;
  }
}

function gateText(event: GateEvent): Line {
  switch (event.type) {
    case "gate.opened":
      return line`${event.gate_id} holds ${event.step_id}: ${event.reason}`;
    case "gate.approved":
      return line`${event.gate_id} approved by ${event.by.id}${because(event.reason)}`;
    case "gate.endorsed":
      return line`${event.gate_id}: ${event.by.id} says yes, and more have to${because(event.reason)}`;
    case "gate.amended":
      return line`${event.gate_id}: ${event.by.id} says yes to another input${because(event.reason)}: ${glance(event.call.input)}`;
    case "gate.escalated":
      return line`${event.gate_id} is for others, too, by now`;
    case "gate.rejected":
      return line`${event.gate_id} rejected by ${event.by.id}${because(event.reason)}`;
    case "gate.expired":
      return line`${event.gate_id} expired`;
    case "gate.closed":
      return line`${event.gate_id} closed${because(event.reason)}`;
    case "gate.contested":
      return line`${event.gate_id} not decided: ${faultText(event.fault)}`;
  }
}

function settledText(settled: Settlement): Line {
  switch (settled.as) {
    case "happened":
      return line`it happened: ${glance(settled.output)}`;
    case "not_done":
    case "absent":
      return line`it did not happen`;
    case "resend":
      return line`sent again under the same key`;
    case "given_up":
      return line`given up`;
  }
}

function parkedText(on: Parking): Line {
  switch (on.for) {
    case "time":
      return line`its time, ${timeText(on.until)}`;
    case "key":
      return line`the same act in ${on.owner}`;
    case "signal":
      return line`the signal ${on.box.key}${on.until === null ? line`` : line`, until ${timeText(on.until)}`}`;
    case "rate":
      return line`its turn, ${timeText(on.until)}: ${on.tally} is used up`;
    case "halt":
      return line`word that it may go on: ${on.halt.by} halted ${on.halt.over}${because(on.halt.reason)}`;
    case "tool":
      return line`its tool: ${faultText(on.fault)}`;
  }
}

function undoneText(acts: readonly UndoneAct[]): string {
  return acts.length === 0
    ? "it has done nothing"
    : acts.map(({ step_id, undone }) => `${step_id} ${undone}`).join(", ");
}

function faultText({ code, message }: Fault): Line {
  return line`${code}: ${message}`;
}

const because = (reason: string): Line => (reason === "" ? line`` : line` (${reason})`);
const again = (attempt: number): Line => (attempt === 1 ? line`` : line`, attempt ${attempt}`);
