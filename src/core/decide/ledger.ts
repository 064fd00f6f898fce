import { unreachable } from "../assert.ts";
import type { Call, Duplicate, LedgerVersion, Reused } from "../event.ts";
import { type Fault, type FaultCode, fault } from "../fault.ts";
import type { Instant } from "../id.ts";
import type { Json } from "../json/json.ts";
import type { LedgerFact, ToolFacts } from "../proposal.ts";
import type { LedgerRow } from "../rows.ts";
import type { Run } from "../run.ts";
import type { Step } from "../step.ts";
import { approvedGate, isGood } from "./approval.ts";

/** What the ledger says to someone who asks to act. */
export type Permit =
  /** `again`: what a person was shown before they said yes. */
  | { readonly kind: "execute"; readonly ledger: LedgerVersion; readonly again: Duplicate | null }
  | {
      readonly kind: "reuse";
      /** Of the row that says so. */
      readonly version: number;
      readonly output: Json;
      readonly reused: Reused;
      readonly foreign: boolean;
      readonly warning: string | null;
    }
  | { readonly kind: "wait"; readonly row: LedgerRow }
  | { readonly kind: "hold"; readonly reason: string; readonly duplicate: Duplicate }
  | { readonly kind: "refuse"; readonly fault: Fault }
  /** The world must be asked before a recorded result is trusted. */
  | { readonly kind: "look" };

type Relation = "same step" | "lineage" | "stranger";

/** Someone who asks to act, and when. */
interface Asking {
  readonly run: Run;
  readonly step: Step;
  readonly call: Call;
  readonly tool: ToolFacts;
  readonly now: Instant;
}

/** Who asks decides as much as what the row says: DESIGN 5, row by row. */
export function permit(asking: Asking, fact: LedgerFact | null): Permit {
  if (fact === null) return { kind: "execute", ledger: { version: 1, generation: 1 }, again: null };
  const { row, version } = fact;
  const relation = relationOf(asking, row);
  const again = saidAgain(asking, row);
  const generation = again === null ? row.generation : row.generation + 1;
  const execute = { kind: "execute", ledger: { version: version + 1, generation }, again } as const;
  // Not while it is under way: whose row it is must not change under a call that has yet to be answered.
  if (again !== null && row.state !== "started" && row.state !== "compensating") return execute;
  switch (row.state) {
    case "not_done":
    case "absent":
      return row.generation === 1 || (relation === "same step" && wasTold(asking)) ? execute : toldAnother(row);
    case "started":
      return { kind: "wait", row };
    case "in_doubt":
      if (relation === "same step") return sendsAgain(asking) ? execute : lapsed(row);
      return relation === "stranger" ? duplicate(row, "DUPLICATE_IN_DOUBT", false) : { kind: "wait", row };
    case "committed":
      return committed(fact, relation, asking);
    case "compensating":
      return relation === "same step" ? closed(row) : { kind: "wait", row };
    case "given_up":
    case "compensated":
    case "compensation_failed":
      return relation === "same step" ? closed(row) : duplicate(row, "EFFECT_CLOSED", row.state !== "given_up");
    default:
      return unreachable(row.state);
  }
}

function relationOf({ run, step }: Asking, row: LedgerRow): Relation {
  if (row.run_id === run.id && row.step_id === step.spec.step_id) return "same step";
  return row.origin === run.origin ? "lineage" : "stranger";
}

/** A person was shown exactly this earlier act and said: yes, again. The answer is good for this call and for its time. */
function saidAgain({ run, step, call, now }: Asking, row: LedgerRow): Duplicate | null {
  const gate = approvedGate(run, step);
  if (gate?.status !== "approved" || gate.duplicate_of === null || !isGood(gate, call, now)) return null;
  const shown = gate.duplicate_of;
  const same = shown.run === row.run_id && shown.step === row.step_id && shown.generation === row.generation;
  return same && (!shown.idle || isIdle(row)) ? shown : null;
}

function isIdle({ state }: LedgerRow): boolean {
  return state === "not_done" || state === "absent";
}

/** A person said yes to this very call, and that is still good: it covers every attempt. */
function wasTold({ run, step, call, now }: Asking): boolean {
  const gate = approvedGate(run, step);
  return gate !== null && isGood(gate, call, now);
}

/** Whether its tool's promise, made when doubt arose, still covers sending the identical call once more. */
function sendsAgain({ step, now }: Asking): boolean {
  const until = step.act?.doubt?.doubt.exits.resend_until ?? null;
  return until !== null && now < until;
}

function lapsed(row: LedgerRow): Permit {
  const message = `${row.step_id} is in doubt, and the time in which its key is harmless is over`;
  return { kind: "refuse", fault: fault("OUTCOME_UNKNOWN", message) };
}

function committed(fact: LedgerFact, relation: Relation, { call, tool }: Asking): Permit {
  const { row, receipt, version } = fact;
  if (relation === "stranger" && tool.onDuplicate === "hold") return duplicate(row, "DUPLICATE_EFFECT", true);
  if (relation === "stranger" && tool.onDuplicate === "refuse") {
    return {
      kind: "refuse",
      fault: fault(
        "DUPLICATE_EFFECT",
        `${row.tool} already did this in run ${row.run_id}, step ${row.step_id}; the tool refuses to repeat it`,
      ),
    };
  }
  if (!row.usable) {
    const message = `${row.step_id} acted, but its answer does not fit its schema; resolve it with a valid output, or undo it`;
    return { kind: "refuse", fault: fault("SCHEMA_VALIDATION_FAILED", message) };
  }
  const differs = row.input_digest === call.digest ? null : "the recorded call had another input";
  const another = differs !== null && call.keyed_by === "template";
  if (receipt === null || another) return duplicate(row, "DUPLICATE_EFFECT", true);
  return confirmed(fact, tool, {
    kind: "reuse",
    version,
    output: receipt.output,
    reused: { run: row.run_id, step: row.step_id, at: receipt.at, differs },
    foreign: relation === "stranger",
    warning: null,
  });
}

/** A recorded act is trusted as far as its tool says: not asked, or asked and then believed, noted or held. */
function confirmed(fact: LedgerFact, tool: ToolFacts, reuse: Extract<Permit, { kind: "reuse" }>): Permit {
  if (tool.confirm === "none") return reuse;
  if (fact.sighting === null) return { kind: "look" };
  const mismatch = mismatchOf(fact.sighting);
  if (mismatch === null) return reuse;
  const message = `${fact.row.step_id} is on record, but the world disagrees: ${mismatch}`;
  if (tool.confirm === "warn") return { ...reuse, warning: message };
  const failed = fault("CONFIRMATION_FAILED", message);
  return tool.confirm === "gate" ? held(fact.row, failed, true) : { kind: "refuse", fault: failed };
}

function mismatchOf(sighting: NonNullable<LedgerFact["sighting"]>): string | null {
  if (sighting.saw === "happened") return sighting.differs ?? null;
  return sighting.saw === "absent"
    ? "it is not there"
    : `it could not be confirmed${sighting.why ? ` (${sighting.why})` : ""}`;
}

function duplicate(row: LedgerRow, code: FaultCode, certain: boolean): Permit {
  const what = certain ? "already" : "perhaps already";
  const message = `${row.tool} ${what} did this in run ${row.run_id}, step ${row.step_id} (${row.state})`;
  return held(row, fault(code, message), certain);
}

function held(row: LedgerRow, { code, message }: Fault, certain: boolean, more: Pick<Duplicate, "idle"> = {}): Permit {
  const { run_id: run, step_id: step, generation } = row;
  const reason = `${code}: ${message}; approving means: yes, again`;
  return { kind: "hold", reason, duplicate: { run, step, generation, certain, ...more } };
}

/** A later generation came to nothing. What was done before it, it would have repeated; one was told so, and nobody else. */
function toldAnother(row: LedgerRow): Permit {
  const message = `${row.tool} was to be repeated by run ${row.run_id}, step ${row.step_id}, which did nothing; what came before it stands`;
  return held(row, fault("DUPLICATE_EFFECT", message), false, { idle: true });
}

function closed(row: LedgerRow): Permit {
  return {
    kind: "refuse",
    fault: fault("EFFECT_CLOSED", `${row.step_id} is ${row.state}; it is not done again by itself`),
  };
}
