import type { Settlement } from "../event/doubt-settlement.ts";
import type { Event, GateEvent, RunEvent, StepEvent } from "../event/event.ts";
import type { LeftAct } from "../event/left-act.ts";
import type { Parking } from "../event/step-parking.ts";
import type { UndoneAct } from "../event/undone-act.ts";
import type { VerifiedAct } from "../event/verified-act.ts";
import { utcText } from "../time/utc-text.ts";
import type { Fault } from "../values/fault.ts";
import type { Instant } from "../values/ids.ts";
import type { Json } from "../values/json.ts";

/** A part of a sentence: text, a JSON value that may be long, or a time. Each surface shows them in its own way. */
export type SentencePart = string | { readonly value: Json } | { readonly at: Instant };

/** A sentence. Its texts can contain any character, because plans, tools and people wrote parts of them. */
export type Sentence = readonly SentencePart[];

/** Returns what happened, without its subject, in the present perfect of a log: `approved by ana (fine)`. */
export function eventSentence(event: Event): Sentence {
  if ("gate_id" in event) return gateSentence(event);
  return "step_id" in event ? stepSentence(event) : runSentence(event);
}

function actList(acts: readonly LeftAct[]): string {
  return acts.map(({ run_id, step_id }) => `${run_id}/${step_id}`).join(", ") || "none";
}

/** Joins the parts. A nested sentence is inserted with its parts. */
function sentence(
  words: TemplateStringsArray,
  ...values: readonly (string | number | SentencePart | Sentence)[]
): Sentence {
  const parts: SentencePart[] = [];
  const add = (part: SentencePart): void => {
    const last = parts.at(-1);
    if (part === "") return;
    if (typeof part === "string" && typeof last === "string") parts[parts.length - 1] = last + part;
    else parts.push(part);
  };
  for (const [index, word] of words.entries()) {
    add(word);
    const value = values[index];
    if (value === undefined) continue;
    if (typeof value === "number") add(String(value));
    else if (Array.isArray(value)) for (const part of value as Sentence) add(part);
    else add(value as SentencePart);
  }
  return parts;
}

function runSentence(event: RunEvent): Sentence {
  switch (event.type) {
    case "run.accepted":
      return sentence`${event.run_id} accepted from ${event.principal.kind} ${event.principal.id}, ${event.mode}`;
    case "run.refused":
      return sentence`refused: ${faultText(event.fault)}`;
    case "run.simulated":
      return sentence`simulated, nothing was done: ${event.simulation.status}, acts: ${event.simulation.acts.length}, approvals: ${event.simulation.gates.length}`;
    case "run.closed":
      return sentence`closed by ${event.by} as ${event.as}${reasonSuffix(event.reason)}`;
    case "run.released":
      return sentence`released by ${event.by}; it takes more calls`;
    case "run.turn_finished":
      return sentence`a turn${event.lane === null ? "" : ` of lane ${event.lane}`} is finished`;
    case "run.branched":
      return sentence`branched in lane ${event.lane}: ${event.dropped.join(", ")} are not replayed; acts before it: ${event.acts.join(", ") || "none"}`;
    case "run.sub_agent_left":
      return sentence`left the sub-agent of run ${event.child}; its acts: ${actList(event.acts)}`;
    case "run.acts_left_above":
      return sentence`a branch above has left the acts: ${actList(event.acts)}`;
    case "run.replanned":
      return sentence`replanned ${event.answer_of === undefined ? "with a fallback plan" : `by ${event.answer_of}`}: ${event.plan.steps.map(({ step_id }) => step_id).join(", ")}`;
    case "cancel.requested":
      return sentence`cancelled by ${event.by}${reasonSuffix(event.reason)}`;
    case "run.restored":
      return sentence`restored from a backup${event.backup_at === null ? "" : ` of ${utcText(event.backup_at)}`} by ${event.by}${reasonSuffix(event.reason)}`;
    case "run.resumed":
      return sentence`resumed by ${event.by}${reasonSuffix(event.reason)}`;
    case "run.rolling_back":
      return sentence`rolled back: ${event.cause.by === "step" ? `${event.cause.step_id} ended the plan` : `cancelled by ${event.cause.principal}`}`;
    case "run.taken":
      return sentence`taken over by ${event.by} from ${event.from}, which did not release it; running: ${event.steps.join(", ")}`;
    case "run.rules_adopted":
      return sentence`continued by ${event.by} under other rules: ${event.to.slice(0, 12)}, before ${event.from?.slice(0, 12) ?? "unknown"}`;
    case "run.parked":
      return sentence`parked: its rules are pinned, and no live worker has them (found ${event.to.slice(0, 12)})`;
    case "run.poisoned":
      return sentence`parked: several workers in a row lost it, and it made no progress`;
    case "run.ended":
      return sentence`${event.as ?? event.status}`;
    case "run.undone":
      return sentence`undone by ${event.by}${reasonSuffix(event.reason)}: ${undoneText(event.acts)}`;
    case "run.verified":
      return sentence`verified${event.by === null ? "" : ` for ${event.by}`}${reasonSuffix(event.reason)}: ${verifiedText(event.acts)}`;
    case "state.restored":
      return sentence`state restored to version ${event.to} by ${event.by}${reasonSuffix(event.reason)}`;
    case "budget.alerted":
      return sentence`${event.level} % of the ${event.unit} per ${event.per} is used: ${event.used} of ${event.limit}`;
    case "notice.delivered":
      return sentence`notice ${event.notice_id} delivered`;
    case "notice.withdrawn":
      return sentence`notice ${event.notice_id} withdrawn: no worker delivered it before the run was erased`;
  }
}

function stepSentence(event: StepEvent): Sentence {
  switch (event.type) {
    case "step.proposed":
      return event.cause.by === "replan"
        ? sentence`asks ${event.step.name} for another plan${attemptSuffix(event.cause.attempt)}`
        : sentence`proposed: ${event.step.name}`;
    case "step.started":
      return sentence`started${attemptSuffix(event.attempt)}`;
    case "step.succeeded":
      return sentence`succeeded${event.reused === undefined ? "" : ` (recorded by ${event.reused.run})`}: ${{ value: event.output }}`;
    case "step.failed":
      return sentence`failed${event.retry_at === null ? "" : sentence`, retried at ${{ at: event.retry_at }}`}: ${faultText(event.fault)}`;
    case "step.cancelled":
      return sentence`cancelled`;
    case "step.doubted":
      return sentence`in doubt: ${faultText(event.fault)}`;
    case "step.probed":
      return sentence`verified: ${event.saw}, ${event.why}`;
    case "step.settled":
      return sentence`settled by ${event.by}: ${settlementText(event.settled)}${reasonSuffix(event.reason)}`;
    case "step.restoring":
      return sentence`failed, its changes are being reverted: ${faultText(event.fault)}`;
    case "step.restored":
      return sentence`changes reverted`;
    case "step.readied":
      return sentence`ready: ${event.why}`;
    case "step.rejected":
      return sentence`rejected: ${faultText(event.fault)}`;
    case "step.parked":
      return sentence`waits for ${parkedText(event.on)}`;
    case "step.compensating":
      return sentence`being undone by ${event.by}${reasonSuffix(event.reason)}`;
    case "step.compensated":
      return sentence`undone${event.confirmed ? " and confirmed" : ", unconfirmed"}`;
    case "step.uncompensated":
      return sentence`could not be undone: ${faultText(event.fault)}`;
    case "step.superseded":
      return sentence`replaced by ${event.by.run}, ${event.by.step}`;
    case "step.delegated":
      return sentence`done by the sub-agent of run ${event.run_id}`;
    case "step.delivered":
      return sentence`answer delivered to ${event.to}`;
    case "evidence.kept":
      return sentence`answered too late: ${{ value: event.evidence }}`;
  }
}

function gateSentence(event: GateEvent): Sentence {
  switch (event.type) {
    case "gate.opened":
      return sentence`${event.gate_id} holds ${event.step_id}: ${event.reason}`;
    case "gate.approved":
      return sentence`${event.gate_id} approved by ${event.by.id}${reasonSuffix(event.reason)}`;
    case "gate.endorsed":
      return sentence`${event.gate_id}: approved by ${event.by.id}, more approvals needed${reasonSuffix(event.reason)}`;
    case "gate.amended":
      return sentence`${event.gate_id}: approved by ${event.by.id} with another input${reasonSuffix(event.reason)}: ${{ value: event.call.input }}`;
    case "gate.escalated":
      return sentence`${event.gate_id} escalated to more approvers`;
    case "gate.rejected":
      return sentence`${event.gate_id} rejected by ${event.by.id}${reasonSuffix(event.reason)}`;
    case "gate.expired":
      return sentence`${event.gate_id} expired`;
    case "gate.closed":
      return sentence`${event.gate_id} closed${reasonSuffix(event.reason)}`;
    case "gate.contested":
      return sentence`${event.gate_id} not decided: ${faultText(event.fault)}`;
  }
}

function settlementText(settled: Settlement): Sentence {
  switch (settled.as) {
    case "happened":
      return sentence`it happened: ${{ value: settled.output }}`;
    case "not_done":
    case "absent":
      return sentence`it did not happen`;
    case "resend":
      return sentence`sent again under the same key`;
    case "given_up":
      return sentence`given up`;
  }
}

function parkedText(on: Parking): Sentence {
  switch (on.for) {
    case "time":
      return sentence`a time, ${{ at: on.until }}`;
    case "key":
      return sentence`the same act in ${on.owner}`;
    case "signal":
      return sentence`the signal ${on.box.key}${on.until === null ? sentence`` : sentence`, until ${{ at: on.until }}`}`;
    case "rate":
      return sentence`the rate limit, ${{ at: on.until }}: ${on.tally} is used up`;
    case "halt":
      return sentence`the end of a halt: ${on.halt.by} halted ${on.halt.over}${reasonSuffix(on.halt.reason)}`;
    case "tool":
      return sentence`its tool: ${faultText(on.fault)}`;
  }
}

function undoneText(acts: readonly UndoneAct[]): string {
  return acts.length === 0 ? "no acts" : acts.map(({ step_id, undone }) => `${step_id} ${undone}`).join(", ");
}

function verifiedText(acts: readonly VerifiedAct[]): string {
  const texts = acts.map(({ step_id, found, why }) => `${step_id} ${found.replace("_", " ")}${why ? ` (${why})` : ""}`);
  return texts.length === 0 ? "no acts" : texts.join(", ");
}

function faultText({ code, message }: Fault): Sentence {
  return sentence`${code}: ${message}`;
}

const reasonSuffix = (reason: string): Sentence => (reason === "" ? sentence`` : sentence` (${reason})`);
const attemptSuffix = (attempt: number): Sentence => (attempt === 1 ? sentence`` : sentence`, attempt ${attempt}`);
