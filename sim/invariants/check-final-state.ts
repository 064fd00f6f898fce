import type { Tenant } from "../../src/core/values/ids.ts";
import { auditTenant } from "../../src/engine/admin/audit/audit-journals.ts";
import type { SimContext } from "../sim-context.ts";
import { checkAnswer } from "./check-answer.ts";
import { findChainBreak } from "./find-chain-break.ts";

/** At the end: chains verify, rows and tallies equal the fold of the events, and nothing is left open. */
export async function checkFinalState(sim: SimContext): Promise<void> {
  const runs = [...sim.observer.all()].filter(({ run }) => run.position > 0);
  for (const tenant of new Set(runs.map((observedRun) => observedRun.tenant))) {
    const ownRuns = runs.filter((observedRun) => observedRun.tenant === tenant);
    await checkJournals(sim, tenant, ownRuns.length + sim.observer.countOtherJournals(tenant));
    checkTallies(sim, tenant, ownRuns);
  }
  for (const { run } of runs) {
    const broken = findChainBreak(run.tenant, run.id, sim.tables.events.get(run.tenant, run.id) ?? []);
    if (broken !== null) sim.violate(`I5: event ${broken} of ${run.id} is not chained to the one before it`);
    for (const [id] of run.notices) sim.violate(`I14: ${id} was never delivered`);
    for (const [id, { status }] of run.gates)
      if (status === "open") sim.violate(`I8: ${id} of ${run.id} is still open at the end`);
  }
  for (const request of sim.observer.receivedAnswers) checkAnswer(sim, request);
}

/** I5, I13: the chain verifies, and every row equals the fold of its events. */
async function checkJournals({ store, violate }: SimContext, tenant: Tenant, observedCount: number): Promise<void> {
  const { broken, runs, tallies } = await auditTenant(store, tenant);
  if (runs !== observedCount)
    violate(`I5: ${observedCount} journals of ${tenant} were observed, the audit finds ${runs}`);
  for (const { run_id, position, what } of broken) violate(`I5: ${run_id} at ${position}: ${what}`);
  for (const { tally, used, charged } of tallies) violate(`I6: ${tally} is ${used}, the audit computes ${charged}`);
}

/** I6: a tally is the sum of its charges. */
function checkTallies(
  { tables, violate }: SimContext,
  tenant: Tenant,
  runs: readonly { readonly charges: ReadonlyMap<string, number> }[],
): void {
  const sums = new Map<string, number>();
  for (const { charges } of runs)
    for (const [tally, amount] of charges) sums.set(tally, (sums.get(tally) ?? 0) + amount);
  for (const [tally, sum] of sums) {
    const used = tables.used(tenant, tally);
    if (used !== sum) violate(`I6: ${tally} of ${tenant} is ${used}, the sum of its charges is ${sum}`);
  }
}
