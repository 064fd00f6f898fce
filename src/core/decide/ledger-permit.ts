import type { LedgerFact, ToolFacts } from "../call/proposal.ts";
import type { DuplicateAct } from "../event/duplicate-act.ts";
import type { Call } from "../event/event.ts";
import type { LedgerRowVersion } from "../event/ledger-row-version.ts";
import type { ReuseSource } from "../event/reuse-source.ts";
import type { Run } from "../run/run.ts";
import type { Step } from "../run/step.ts";
import type { LedgerRow } from "../store/tables.ts";
import { unreachable } from "../values/assert.ts";
import { type Fault, type FaultCode, fault } from "../values/fault.ts";
import type { Instant } from "../values/ids.ts";
import type { Json } from "../values/json.ts";
import { actFinding, confirmationFault } from "./act-finding.ts";
import { isApprovalValid, lastApprovedGate } from "./find-approval.ts";

/** The decision of the ledger about a request to act. */
export type LedgerPermit =
  /** `again` is the earlier act that an approved repeat repeats. */
  | { readonly kind: "execute"; readonly ledger: LedgerRowVersion; readonly again: DuplicateAct | null }
  | {
      readonly kind: "reuse";
      /** The version of the ledger row. */
      readonly version: number;
      readonly output: Json;
      readonly reused: ReuseSource;
      /** True if the act belongs to a run of another origin. */
      readonly foreign: boolean;
      readonly warning: string | null;
    }
  | { readonly kind: "wait"; readonly row: LedgerRow }
  | { readonly kind: "hold"; readonly reason: string; readonly duplicate: DuplicateAct }
  | { readonly kind: "refuse"; readonly fault: Fault }
  /** The verifier must confirm the recorded result first. */
  | { readonly kind: "look" };

type LedgerRelation = "same step" | "lineage" | "stranger";

interface ActRequest {
  readonly run: Run;
  readonly step: Step;
  readonly call: Call;
  readonly tool: ToolFacts;
  readonly now: Instant;
}

/** Decides from the ledger row and its relation to the requesting step. See docs/design.md, section 5. */
export function ledgerPermit(asking: ActRequest, fact: LedgerFact | null): LedgerPermit {
  if (fact === null) return { kind: "execute", ledger: { version: 1, generation: 1 }, again: null };
  const { row, version } = fact;
  const relation = ledgerRelation(asking, row);
  const again = approvedRepeat(asking, row);
  const generation = again === null ? row.generation : row.generation + 1;
  const execute = { kind: "execute", ledger: { version: version + 1, generation }, again } as const;
  // Not while the act is running: the row must not change its owner before the call has ended.
  if (again !== null && row.state !== "started" && row.state !== "compensating") return execute;
  switch (row.state) {
    case "not_done":
    case "absent":
      return row.generation === 1 || (relation === "same step" && hasValidApproval(asking))
        ? execute
        : holdAfterIdleRepeat(row);
    case "started":
      return { kind: "wait", row };
    case "in_doubt":
      if (relation === "same step") return mayResend(asking) ? execute : resendExpired(row);
      return relation === "stranger" ? holdDuplicate(row, "DUPLICATE_IN_DOUBT", false) : { kind: "wait", row };
    case "committed":
      return permitCommitted(fact, relation, asking);
    case "compensating":
      return relation === "same step" ? refuseClosed(row) : { kind: "wait", row };
    case "given_up":
    case "compensated":
    case "compensation_failed":
      return relation === "same step"
        ? refuseClosed(row)
        : holdDuplicate(row, "EFFECT_CLOSED", row.state !== "given_up");
    default:
      return unreachable(row.state);
  }
}

function ledgerRelation({ run, step }: ActRequest, row: LedgerRow): LedgerRelation {
  if (row.run_id === run.id && row.step_id === step.spec.step_id) return "same step";
  // After a branch, an act of the branch before answers the same act silently.
  if (row.run_id === run.id && run.conversation?.branchActs.has(row.step_id)) return "lineage";
  // Each call that an agent names is a request of its own, also beside other calls of its session.
  if (step.cause?.by === "agent" && step.cause.call !== undefined) return "stranger";
  return row.origin === run.origin ? "lineage" : "stranger";
}

/** Returns the earlier act if an unexpired approval of this call covers a repeat of exactly that act, else null. */
function approvedRepeat({ run, step, call, now }: ActRequest, row: LedgerRow): DuplicateAct | null {
  const gate = lastApprovedGate(run, step);
  if (gate?.status !== "approved" || gate.duplicate_of === null || !isApprovalValid(gate, call, now)) return null;
  const shown = gate.duplicate_of;
  const same = shown.run === row.run_id && shown.step === row.step_id && shown.generation === row.generation;
  return same && (!shown.idle || didNothing(row)) ? shown : null;
}

function didNothing({ state }: LedgerRow): boolean {
  return state === "not_done" || state === "absent";
}

/** True if an unexpired approval covers this call. It covers every attempt. */
function hasValidApproval({ run, step, call, now }: ActRequest): boolean {
  const gate = lastApprovedGate(run, step);
  return gate !== null && isApprovalValid(gate, call, now);
}

/** True if the promise of the tool, as recorded with the doubt, still allows to send the identical call again. */
function mayResend({ step, now }: ActRequest): boolean {
  const until = step.act?.doubt?.doubt.exits.resend_until ?? null;
  return until !== null && now < until;
}

function resendExpired(row: LedgerRow): LedgerPermit {
  const message = `${row.step_id} is in doubt, and the time in which its key may be sent again is over`;
  return { kind: "refuse", fault: fault("OUTCOME_UNKNOWN", message) };
}

function permitCommitted(fact: LedgerFact, relation: LedgerRelation, { call, tool }: ActRequest): LedgerPermit {
  const { row, receipt, version } = fact;
  if (relation === "stranger" && tool.onDuplicate === "hold") return holdDuplicate(row, "DUPLICATE_EFFECT", true);
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
    const message = `${row.step_id} acted, but its output does not match its schema; resolve it with a valid output, or undo it`;
    return { kind: "refuse", fault: fault("SCHEMA_VALIDATION_FAILED", message) };
  }
  const differs = row.input_digest === call.digest ? null : "the recorded call had another input";
  const isOtherCall = differs !== null && call.keyed_by === "template";
  if (receipt === null || receipt.key === null || isOtherCall) return holdDuplicate(row, "DUPLICATE_EFFECT", true);
  const isProof = receipt.key === call.key && receipt.generation === row.generation && receipt.step_id === row.step_id;
  if (!isProof) {
    const message = `the ledger row ${call.key} names event ${row.receipt} of run ${row.run_id} as its receipt, and that event proves another act; audit the store and restore it from a backup`;
    return { kind: "refuse", fault: fault("CHAIN_BROKEN", message) };
  }
  return confirmReuse(fact, tool, {
    kind: "reuse",
    version,
    output: receipt.output,
    reused: { run: row.run_id, step: row.step_id, at: receipt.at, differs },
    foreign: relation === "stranger",
    warning: null,
  });
}

/** Confirms a recorded act as its tool demands. A mismatch adds a warning, opens a gate or refuses the call. */
function confirmReuse(
  fact: LedgerFact,
  tool: ToolFacts,
  reuse: Extract<LedgerPermit, { kind: "reuse" }>,
): LedgerPermit {
  if (tool.confirm === "none") return reuse;
  if (fact.sighting === null) return { kind: "look" };
  const failed = confirmationFault(fact.row.step_id, actFinding(fact.sighting));
  if (failed === null) return reuse;
  if (tool.confirm === "warn") return { ...reuse, warning: failed.message };
  return tool.confirm === "gate" ? holdForRepeat(fact.row, failed, true) : { kind: "refuse", fault: failed };
}

function holdDuplicate(row: LedgerRow, code: FaultCode, certain: boolean): LedgerPermit {
  const already = certain ? "already" : "perhaps already";
  const message = `${row.tool} ${already} did this in run ${row.run_id}, step ${row.step_id} (${row.state})`;
  return holdForRepeat(row, fault(code, message), certain);
}

function holdForRepeat(
  row: LedgerRow,
  { code, message }: Fault,
  certain: boolean,
  more: Pick<DuplicateAct, "idle"> = {},
): LedgerPermit {
  const { run_id: run, step_id: step, generation } = row;
  const reason = `${code}: ${message}; an approval repeats it`;
  return { kind: "hold", reason, duplicate: { run, step, generation, certain, ...more } };
}

/** A later generation did nothing. Another step would repeat the generation before it, which needs its own approval. */
function holdAfterIdleRepeat(row: LedgerRow): LedgerPermit {
  const message = `run ${row.run_id}, step ${row.step_id} was to repeat ${row.tool} and did nothing; the earlier act remains`;
  return holdForRepeat(row, fault("DUPLICATE_EFFECT", message), false, { idle: true });
}

function refuseClosed(row: LedgerRow): LedgerPermit {
  return {
    kind: "refuse",
    fault: fault("EFFECT_CLOSED", `${row.step_id} is ${row.state}; it is not repeated automatically`),
  };
}
