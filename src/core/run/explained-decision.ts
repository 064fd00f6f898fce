import { demandText } from "../approval/approval-demand.ts";
import type { Basis, Objection } from "../approval/verdict-basis.ts";
import type { Event } from "../event/event.ts";
import { isJsonObject } from "../values/json.ts";

/** A decision about a step, with its reason and its rules. */
export interface ExplainedDecision {
  readonly decision:
    | "let through"
    | "held"
    | "put off"
    | "refused"
    | "failed"
    | "endorsed"
    | "approved"
    | "amended"
    | "escalated"
    | "rejected"
    | "expired"
    | "closed";
  /** The rule that decided; null if no rule objected or a person decided. */
  readonly rule: string | null;
  readonly reason: string;
  /** The approvers that the gate asks for, or the person who decided. */
  readonly who: string | null;
  readonly policy: string | null;
  readonly passed: readonly string[];
  readonly objections: readonly Objection[];
}

/** Returns the decision that an event records, or null. */
export function explainDecision(event: Event): ExplainedDecision | null {
  switch (event.type) {
    case "step.rejected":
      return explainedDecision("refused", { rule: event.rule, reason: event.fault.message }, event.basis);
    case "step.parked":
      return event.on.for === "rate"
        ? explainedDecision("put off", {
            rule: event.on.rule ?? "rate",
            reason: `${event.on.tally} is used up for now`,
          })
        : null;
    case "gate.opened":
      return explainedDecision(
        "held",
        { rule: event.rule, reason: event.reason, who: demandText(event.demand) },
        event.basis,
      );
    case "gate.endorsed":
      return explainedDecision("endorsed", { reason: event.reason, who: event.by.id });
    case "gate.amended":
      return explainedDecision("amended", { reason: event.reason, who: event.by.id });
    case "gate.escalated":
      return explainedDecision("escalated", { reason: "it was not decided in time, so more people may decide it" });
    case "gate.approved":
      return explainedDecision("approved", { reason: event.reason, who: event.by.id });
    case "gate.rejected":
      return explainedDecision("rejected", { reason: event.reason, who: event.by.id });
    case "gate.expired":
      return explainedDecision("expired", { reason: "it was not decided in time" });
    case "gate.closed":
      return explainedDecision("closed", { reason: event.reason });
    case "step.started":
      return explainedDecision(
        "let through",
        { reason: event.gate === null ? ALLOWED : "a person approved exactly this call" },
        event.basis,
      );
    case "step.failed": {
      const { detail } = event.fault;
      const rule = isJsonObject(detail) ? detail.rule : null;
      if (typeof rule === "string")
        return explainedDecision("failed", { rule, reason: event.fault.message }, event.basis);
      return event.basis === undefined ? null : explainedDecision("let through", { reason: ALLOWED }, event.basis);
    }
    case "step.succeeded":
      return event.basis === undefined ? null : explainedDecision("let through", { reason: ALLOWED }, event.basis);
    default:
      return null;
  }
}

const ALLOWED = "no rule objected";

function explainedDecision(
  decision: ExplainedDecision["decision"],
  what: Partial<ExplainedDecision> & Pick<ExplainedDecision, "reason">,
  basis?: Basis,
): ExplainedDecision {
  const { policy = null, passed = [], objections = [] } = basis ?? {};
  return { decision, rule: null, who: null, ...what, policy, passed, objections };
}
