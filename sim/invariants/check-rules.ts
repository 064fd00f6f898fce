import type { Event } from "../../src/core/event/event.ts";
import type { Run } from "../../src/core/run/run.ts";
import { runTools, workerRequirements } from "../../src/core/run/worker-requirements.ts";
import type { Claim, Entry } from "../../src/core/store/store.ts";
import type { WorkerId } from "../../src/core/values/ids.ts";
import type { MemoryWorker } from "../../src/store/memory/memory-tables.ts";
import type { SimContext } from "../sim-context.ts";

/** I26: a worker executes a run only under its own rules: those it was accepted under, or those adopted on record. */
export function checkRules(
  { rulesOf, counts, violate }: SimContext,
  { expect }: Entry,
  events: readonly Event[],
  { id, rules }: Run,
  writer: number,
): void {
  for (const { type } of events) {
    if (type === "run.rules_adopted") counts.adoptions += 1;
    const isCall = type === "step.started" || type === "step.succeeded" || type === "step.failed";
    if (expect.epoch !== null && isCall && rules !== null && rules.digest !== rulesOf.get(writer))
      violate(`I26: ${id} has ${type} of process ${writer}, which has other rules`);
  }
}

/** Checks that the worker may claim the run: by its rules and by its tools. */
export function checkClaimTerms(sim: SimContext, run: Run, { worker }: Claim, holder: number): void {
  if (run.ended !== null) return;
  const live = [...sim.tables.workers].filter(([, { until }]) => until === null || until > sim.scheduler.now());
  const others = live.filter(([other, { rules }]) => other !== worker && rules !== null);
  checkClaimedRules(sim, run, others, holder);
  checkClaimedTools(sim, run, others, worker);
}

type WorkerEntries = readonly (readonly [WorkerId, MemoryWorker])[];

/** I26: while a live worker has the rules of a run that has not ended, no worker with other rules takes it over. */
function checkClaimedRules(
  { rulesOf, violate }: SimContext,
  { id, rules }: Run,
  others: WorkerEntries,
  holder: number,
) {
  if (rules === null || rules.digest === rulesOf.get(holder)) return;
  for (const [worker, { rules: known }] of others)
    if (known === rules.digest)
      violate(`I26: process ${holder} claimed ${id} under other rules, although ${worker} has its rules`);
}

/** I27: no worker without a tool of a due run claims it, while a live worker that may claim it has one. */
function checkClaimedTools(
  { tables, counts, violate }: SimContext,
  run: Run,
  others: WorkerEntries,
  claimer: WorkerId,
) {
  const own = tables.workers.get(claimer);
  const tools = runTools(run);
  const hasTool = (offers: readonly string[]) => tools.some((tool) => offers.includes(tool));
  // A worker that closes has withdrawn its offers, and may still be claiming.
  if (own === undefined || own.rules === null || tools.length === 0 || hasTool(own.offers)) return;
  // A run that is not due waits for something that this worker offers.
  if (workerRequirements(run).some((need) => own.offers.includes(need))) return;
  counts.claimsWithoutTools += 1;
  for (const [worker, { rules, offers }] of others)
    if ((run.rules?.digest !== own.rules || rules === own.rules) && hasTool(offers))
      violate(`I27: ${claimer} claimed ${run.id} without a tool of it, although ${worker} has one`);
}
