import { unreachable } from "../assert.ts";
import type { Call, Duplicate, LedgerVersion, Reused } from "../event.ts";
import { type Fault, type FaultCode, fault } from "../fault.ts";
import type { Json } from "../json.ts";
import type { LedgerFact, ToolFacts } from "../proposal.ts";
import type { LedgerRow } from "../rows.ts";
import type { Run, Step } from "../run.ts";

/** What the ledger says to someone who asks to act. */
export type Permit =
  | { readonly kind: "execute"; readonly ledger: LedgerVersion }
  | {
      readonly kind: "reuse";
      readonly output: Json;
      readonly reused: Reused;
      readonly foreign: boolean;
      readonly warning: string | null;
    }
  | { readonly kind: "wait"; readonly row: LedgerRow }
  | { readonly kind: "hold"; readonly code: FaultCode; readonly reason: string; readonly duplicate: Duplicate }
  | { readonly kind: "refuse"; readonly fault: Fault }
  /** The world must be asked before a recorded result is trusted. */
  | { readonly kind: "look" };

type Relation = "same step" | "lineage" | "stranger";

/** Who asks decides as much as what the row says: DESIGN 5, row by row. */
export function permit(run: Run, step: Step, call: Call, tool: ToolFacts, fact: LedgerFact | null): Permit {
  if (fact === null) return { kind: "execute", ledger: { version: 1, generation: 1 } };
  const { row, version } = fact;
  const relation = relationOf(run, step, row);
  const again: LedgerVersion = { version: version + 1, generation: row.generation };
  if (saidAgain(run, step, row)) return { kind: "execute", ledger: { ...again, generation: row.generation + 1 } };
  switch (row.state) {
    case "not_done":
    case "absent":
      return { kind: "execute", ledger: again };
    case "started":
      return { kind: "wait", row };
    case "in_doubt":
      if (relation === "same step" && step.act?.resend === true) return { kind: "execute", ledger: again };
      return relation === "stranger" ? duplicate(row, "DUPLICATE_IN_DOUBT", false) : { kind: "wait", row };
    case "committed":
      return committed(fact, relation, call, tool, step);
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

function relationOf(run: Run, step: Step, row: LedgerRow): Relation {
  if (row.run_id === run.id && row.step_id === step.spec.step_id) return "same step";
  return row.origin === run.origin ? "lineage" : "stranger";
}

/** A person was shown exactly this earlier act and said: yes, again. */
function saidAgain(run: Run, step: Step, row: LedgerRow): boolean {
  const gate = step.gate === null ? undefined : run.gates.get(step.gate);
  const shown = gate?.status === "approved" ? gate.duplicate_of : null;
  return (
    shown !== null && shown.run === row.run_id && shown.step === row.step_id && shown.generation === row.generation
  );
}

function committed(fact: LedgerFact, relation: Relation, call: Call, tool: ToolFacts, step: Step): Permit {
  const { row, receipt } = fact;
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
  const templated = step.spec.idempotency_template !== null && call.keyed_by === "template";
  if (receipt === null || (differs !== null && templated)) return duplicate(row, "DUPLICATE_EFFECT", true);
  return confirmed(fact, tool, {
    kind: "reuse",
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
  if (tool.confirm === "gate") return { ...duplicate(fact.row, "CONFIRMATION_FAILED", true), reason: message };
  return { kind: "refuse", fault: fault("CONFIRMATION_FAILED", message) };
}

function mismatchOf(sighting: NonNullable<LedgerFact["sighting"]>): string | null {
  if (sighting.saw === "happened") return sighting.differs ?? null;
  return sighting.saw === "absent"
    ? "it is not there"
    : `it could not be confirmed${sighting.why ? ` (${sighting.why})` : ""}`;
}

function duplicate(row: LedgerRow, code: FaultCode, certain: boolean): Extract<Permit, { kind: "hold" }> {
  const what = certain ? "already" : "perhaps already";
  return {
    kind: "hold",
    code,
    reason: `${row.tool} ${what} did this in run ${row.run_id}, step ${row.step_id} (${row.state}); approving means: yes, again`,
    duplicate: { run: row.run_id, step: row.step_id, generation: row.generation, certain },
  };
}

function closed(row: LedgerRow): Permit {
  return {
    kind: "refuse",
    fault: fault("EFFECT_CLOSED", `${row.step_id} is ${row.state}; it is not done again by itself`),
  };
}
