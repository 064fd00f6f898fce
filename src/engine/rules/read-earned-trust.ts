import { type EarnedTrust, trustLossTally, trustTally } from "../../core/approval/earned-trust.ts";
import type { Proposal } from "../../core/call/proposal.ts";
import type { Run } from "../../core/run/run.ts";
import type { Tenant } from "../../core/values/ids.ts";
import type { PolicyRegistry } from "./policy-registry.ts";
import type { RulesPorts } from "./rules-ports.ts";

/** Reads the trust that a principal has earned with a tool. */
export async function readEarnedTrust(
  { store }: Pick<RulesPorts, "store">,
  tenant: Tenant,
  tool: string,
  principal: string,
): Promise<EarnedTrust> {
  const tally = trustTally(tool, principal);
  const loss = trustLossTally(tool, principal);
  // Losses first: a loss between the two reads is then found here or by the store's check.
  const times = await store.used(tenant, loss);
  return { tally, earned: await store.used(tenant, tally), lost: { tally: loss, times } };
}

/** Reads the trust record for a call. Null: no rule lets the tool earn trust. */
export async function earnedTrustForCall(
  ports: RulesPorts & { readonly policies: PolicyRegistry },
  run: Run,
  { tool }: Proposal,
): Promise<EarnedTrust | null> {
  if (tool === null || ports.policies.of(run)?.earns(tool) !== true) return null;
  return readEarnedTrust(ports, run.tenant, tool.name, run.principal.id);
}
