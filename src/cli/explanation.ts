import type { Basis, Objection } from "../core/basis.ts";
import { demandText } from "../core/demand.ts";
import type { Event } from "../core/event.ts";
import type { GateId, Instant, StepId } from "../core/id.ts";
import { isObject } from "../core/json/json.ts";
import type { RecordedEvent } from "../engine/api.ts";

/** One thing that was decided about a step, why, and by which rules. */
export interface Explanation {
  readonly position: number;
  readonly at: Instant;
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
  /** The rule that decided; null: none had anything against it, or a person decided. */
  readonly rule: string | null;
  readonly reason: string;
  /** Whom the gate asks for, or who decided. */
  readonly who: string | null;
  readonly policy: string | null;
  readonly passed: readonly string[];
  readonly objections: readonly Objection[];
}

/** Everything that the journal says about why a step was let through, held or refused, in its order. */
export function explanationsOf(journal: readonly RecordedEvent[], step: StepId): readonly Explanation[] {
  const gates = new Set<GateId>();
  return journal.flatMap(({ position, event }) => {
    if (event.type === "gate.opened" && event.step_id === step) gates.add(event.gate_id);
    const isAbout = "gate_id" in event ? gates.has(event.gate_id) : "step_id" in event && event.step_id === step;
    const said = isAbout ? explained(event) : null;
    return said === null ? [] : [{ position, at: event.at, ...said }];
  });
}

type Said = Omit<Explanation, "position" | "at">;

function explained(event: Event): Said | null {
  switch (event.type) {
    case "step.rejected":
      return said("refused", { rule: event.rule, reason: event.fault.message }, event.basis);
    case "step.parked":
      return event.on.for === "rate"
        ? said("put off", { rule: event.on.rule ?? "rate", reason: `${event.on.tally} is used up for now` })
        : null;
    case "gate.opened":
      return said("held", { rule: event.rule, reason: event.reason, who: demandText(event.demand) }, event.basis);
    case "gate.endorsed":
      return said("endorsed", { reason: event.reason, who: event.by.id });
    case "gate.amended":
      return said("amended", { reason: event.reason, who: event.by.id });
    case "gate.escalated":
      return said("escalated", { reason: "nobody had decided for so long that others may, too" });
    case "gate.approved":
      return said("approved", { reason: event.reason, who: event.by.id });
    case "gate.rejected":
      return said("rejected", { reason: event.reason, who: event.by.id });
    case "gate.expired":
      return said("expired", { reason: "nobody decided in time" });
    case "gate.closed":
      return said("closed", { reason: event.reason });
    case "step.started":
      return said(
        "let through",
        { reason: event.gate === null ? ALLOWED : "a person said yes to exactly this call" },
        event.basis,
      );
    case "step.failed": {
      const { detail } = event.fault;
      const rule = isObject(detail) ? detail.rule : null;
      if (typeof rule === "string") return said("failed", { rule, reason: event.fault.message }, event.basis);
      return event.basis === undefined ? null : said("let through", { reason: ALLOWED }, event.basis);
    }
    case "step.succeeded":
      return event.basis === undefined ? null : said("let through", { reason: ALLOWED }, event.basis);
    default:
      return null;
  }
}

const ALLOWED = "no rule had anything against it";

function said(decision: Said["decision"], what: Partial<Said> & Pick<Said, "reason">, basis?: Basis): Said {
  const { policy = null, passed = [], objections = [] } = basis ?? {};
  return { decision, rule: null, who: null, ...what, policy, passed, objections };
}
