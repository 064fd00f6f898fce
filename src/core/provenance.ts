import type { Provenance } from "./event.ts";
import type { Digest, RunId } from "./id.ts";
import { outcomeId } from "./run.ts";
import type { Step } from "./step.ts";

/** What a step that succeeded has made; null if its plan names no outcome and nobody may share its answer. */
export function provenanceOf(
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
