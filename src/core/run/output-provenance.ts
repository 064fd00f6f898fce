import type { Provenance } from "../event/provenance.ts";
import type { Digest, RunId } from "../values/ids.ts";
import { outcomeId } from "./run.ts";
import type { Step } from "./step.ts";

/** Returns the outcome of a successful step, or null if the plan names none and other runs cannot reuse the output. */
export function outputProvenance(
  run: RunId,
  { spec, pin }: Step,
  input_digest: Digest | null,
  reuse_key: Digest | null,
): Provenance | null {
  const { outcome, step_id, name } = spec;
  if (outcome === null && reuse_key === null) return null;
  const { type, status } = outcome ?? { type: name, status: "final" };
  return {
    outcome_id: outcomeId(run, step_id),
    type,
    status,
    input_digest,
    tool: `${name}@${pin?.version ?? "1"}`,
    reuse_key,
  };
}
