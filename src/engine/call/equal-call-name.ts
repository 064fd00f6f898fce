import type { Run, Step } from "../../core/run/run.ts";
import type { CallPorts } from "./call-ports.ts";
import { makeProposal } from "./make-proposal.ts";
import { reuseTermsFor } from "./stored-facts.ts";

/** Returns the name that equal calls share whose output one may take from another, or null if the call stands alone. */
export function equalCallName(ports: CallPorts, run: Run, step: Step): string | null {
  const { cache_policy } = step.spec;
  if (cache_policy === "never" || cache_policy === "refresh") return null;
  const proposal = makeProposal(ports, run, step, { call: true });
  return reuseTermsFor(ports, run, step, proposal, ports.policies.of(run)?.version ?? null)?.key ?? null;
}
