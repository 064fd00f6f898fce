import type { Event } from "../../src/core/event/event.ts";
import type { Run } from "../../src/core/run/run.ts";
import type { Entry } from "../../src/core/store/store.ts";
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

/** I26: while a live worker has the rules of a run that has not ended, no worker with other rules takes it over. */
export function checkClaimedRules(
  { tables, rulesOf, scheduler, violate }: SimContext,
  { id, rules, ended }: Run,
  holder: number,
): void {
  if (rules === null || ended !== null || rules.digest === rulesOf.get(holder)) return;
  for (const [worker, { rules: known, until }] of tables.workers)
    if (known === rules.digest && (until === null || until > scheduler.now()))
      violate(`I26: process ${holder} claimed ${id} under other rules, although ${worker} has its rules`);
}
