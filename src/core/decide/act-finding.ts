import type { VerifiedAct } from "../event/verified-act.ts";
import type { Sighting } from "../tool/tool.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";

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
