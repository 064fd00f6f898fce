import type { Tenant } from "../../core/id.ts";
import type { Proposal } from "../../core/proposal.ts";
import type { Run } from "../../core/run.ts";
import { lossTally, type TrustRecord, trustTally } from "../../core/trust.ts";
import type { Ports } from "../ports.ts";

/** What a principal has earned with a tool so far. */
export async function trustRecord(
  { store }: Pick<Ports, "store">,
  tenant: Tenant,
  tool: string,
  principal: string,
): Promise<TrustRecord> {
  const tally = trustTally(tool, principal);
  const loss = lossTally(tool, principal);
  // In this order: whoever loses it in between is found to have lost it, here or by the store.
  const times = await store.used(tenant, loss);
  return { tally, earned: await store.used(tenant, tally), lost: { tally: loss, times } };
}

/** The same for a call that is about to be judged; null: nothing can be earned with it. */
export async function recordFor(ports: Ports, run: Run, { tool }: Proposal): Promise<TrustRecord | null> {
  if (tool === null || ports.policies.of(run)?.earns(tool) !== true) return null;
  return trustRecord(ports, run.tenant, tool.name, run.principal.id);
}
