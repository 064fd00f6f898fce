import type { VerifiedAct, VerifiedChange } from "../event/verified-act.ts";
import type { Sighting } from "../tool/tool.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";

/** The answer of a verifier about a recorded act. Null: its tool has no verifier. */
export interface ActSighting {
  readonly step_id: StepId;
  readonly sighting: Sighting | null;
  /** The findings about the changes that the act recorded, in their order. Absent: it recorded none. */
  readonly changes?: readonly Omit<VerifiedChange, "change">[];
}

type ActFinding = Pick<VerifiedAct, "found" | "why">;

/** Returns what the answer of a verifier says about a recorded act. Null: its tool has no verifier. */
export function actFinding(sighting: Sighting | null): ActFinding {
  if (sighting === null) return { found: "not_verifiable", why: null };
  if (sighting.saw === "absent") return { found: "missing", why: null };
  if (sighting.saw === "unknown") return { found: "unknown", why: sighting.why ?? null };
  return sighting.differs === undefined
    ? { found: "confirmed", why: null }
    : { found: "different", why: sighting.differs };
}

/** Returns the finding about an act whose changes were verified one by one: it is confirmed only if all of them are. */
export function findingWithChanges(finding: ActFinding, changes: readonly VerifiedChange[]): ActFinding {
  const wrong = changes.filter(({ found }) => found === "missing" || found === "different");
  const isConfirmed = finding.found === "confirmed" || finding.found === "not_verifiable";
  if (!isConfirmed || changes.length === 0) return finding;
  if (wrong.length > 0) return { found: "different", why: wrong.map(changeText).join("; ") };
  if (finding.found === "confirmed") return finding;
  return changes.every(({ found }) => found === "confirmed") ? { found: "confirmed", why: null } : finding;
}

function changeText({ change, found, why }: VerifiedChange): string {
  const { type, id, operation } = change;
  return `${type} ${id}, ${operation}: ${found === "missing" ? "it is not there" : why}`;
}

/** Returns the fault of a recorded act that is not confirmed, or null. */
export function confirmationFault(step_id: StepId, finding: ActFinding): Fault | null {
  const mismatch = mismatchText(finding);
  if (mismatch === null) return null;
  return fault("CONFIRMATION_FAILED", `${step_id} is recorded, but the verifier disagrees: ${mismatch}`);
}

function mismatchText({ found, why }: ActFinding): string | null {
  switch (found) {
    case "confirmed":
      return null;
    case "different":
      return why;
    case "missing":
      return "it is not there";
    case "unknown":
    case "not_verifiable":
      return `it could not be confirmed${why ? ` (${why})` : ""}`;
  }
}
