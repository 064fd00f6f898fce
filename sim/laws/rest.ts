import type { Tenant } from "../../src/core/id.ts";
import { auditTenant } from "../../src/engine/record/audit.ts";
import type { Scene } from "../scene.ts";
import { judgeAnswer } from "./answers.ts";
import { unchained } from "./chain.ts";

/** What must hold when everything has come to rest: the journal verifies, rows and tallies are what events add up to. */
export async function judgeRest(scene: Scene): Promise<void> {
  const runs = [...scene.record.all()].filter(({ run }) => run.position > 0);
  for (const tenant of new Set(runs.map((kept) => kept.tenant))) {
    const mine = runs.filter((kept) => kept.tenant === tenant);
    await chains(scene, tenant, mine.length + scene.record.boxesOf(tenant));
    tallies(scene, tenant, mine);
  }
  for (const { run } of runs) {
    const broken = unchained(run.tenant, run.id, scene.tables.events.get(run.tenant, run.id) ?? []);
    if (broken !== null) scene.violate(`I5: event ${broken} of ${run.id} is not chained to the one before it`);
    for (const [id] of run.notices) scene.violate(`I14: ${id} was never delivered`);
    for (const [id, { status }] of run.gates)
      if (status === "open") scene.violate(`I8: ${id} of ${run.id} was left open`);
  }
  for (const dispatch of scene.record.heard) judgeAnswer(scene, dispatch);
}

/** I5, I13: the chain is whole, and every row is what its events add up to. */
async function chains({ store, violate }: Scene, tenant: Tenant, seen: number): Promise<void> {
  const { broken, runs, tallies } = await auditTenant(store, tenant);
  if (runs !== seen) violate(`I5: ${seen} runs of ${tenant} were seen, an audit finds ${runs}`);
  for (const { run_id, position, what } of broken) violate(`I5: ${run_id} at ${position}: ${what}`);
  for (const { tally, used, charged } of tallies) violate(`I6: ${tally} says ${used}, an audit adds up ${charged}`);
}

/** I6: a tally is the sum of what was charged to it. */
function tallies(
  { tables, violate }: Scene,
  tenant: Tenant,
  runs: readonly { readonly charges: ReadonlyMap<string, number> }[],
): void {
  const sums = new Map<string, number>();
  for (const { charges } of runs)
    for (const [tally, amount] of charges) sums.set(tally, (sums.get(tally) ?? 0) + amount);
  for (const [tally, sum] of sums) {
    const used = tables.used(tenant, tally);
    if (used !== sum) violate(`I6: ${tally} of ${tenant} is ${used}, its charges add up to ${sum}`);
  }
}
