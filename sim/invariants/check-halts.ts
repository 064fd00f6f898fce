import { findStep, type Run, type Step } from "../../src/core/run/run.ts";
import type { HaltRow } from "../../src/core/store/tables.ts";
import type { ObservedEvent } from "../journal-observer.ts";
import type { SimContext } from "../sim-context.ts";

/** No worker calls a tool this long after a halt. */
const HALT_DELAY_MS = 1000;

/** I22: no step starts while it is halted, and no step waits for a halt that is not in force. */
export function checkHalts({ sim, before, event }: ObservedEvent): void {
  if (event.type === "step.started") {
    const halt = sim.haltModel.findCovering(sim, before);
    const step = findStep(before, event.step_id) as Step;
    if (halt !== null && step.cause?.by !== "undo")
      sim.violate(`I22: ${before.id} ${event.step_id} was started while ${halt.over} is halted`);
  }
  if (event.type === "step.parked" && event.on.for === "halt") {
    sim.counts.halted += 1;
    if (sim.haltModel.findCovering(sim, before) === null)
      sim.violate(`I22: ${before.id} ${event.step_id} waits for a halt, but none covers it`);
  }
}

/** I22: no act is called once its halt is older than HALT_DELAY_MS. */
export function checkActAllowed(sim: SimContext, run: Run, { spec, cause }: Step): void {
  const { haltModel, scheduler, violate } = sim;
  const halt = haltModel.findCovering(sim, run);
  if (halt === null || cause?.by === "undo") return;
  const since = scheduler.now() - halt.since;
  if (since > HALT_DELAY_MS)
    violate(`I22: ${run.id} ${spec.step_id} (${spec.name}) was called ${since} ms after ${halt.over} was halted`);
}

/** I22: no other tool is called by a worker that knows of the halt or whose last lookup is older than HALT_DELAY_MS. */
export function checkCallAllowed(sim: SimContext, run: Run, { spec }: Step, worker: number): void {
  const { haltModel, scheduler, violate } = sim;
  const halt = haltModel.findCovering(sim, run);
  if (halt === null) return;
  const lookup = haltModel.lastLookup(worker, halt);
  const where = `I22: ${run.id} ${spec.step_id} (${spec.name}) was called while ${halt.over} is halted`;
  if (lookup === undefined) violate(`${where}; its worker never read the halt rows`);
  else if (haltModel.isKnownTo(worker, run.tenant, halt)) violate(`${where}; its worker knew of the halt`);
  else if (scheduler.now() - lookup.answered > HALT_DELAY_MS)
    violate(`${where}; its worker read the halt rows ${scheduler.now() - lookup.answered} ms ago`);
}

/** At the end: no halt is in force, and the rows agree. */
export function checkHaltRows({ haltModel, tables, violate }: SimContext): void {
  for (const { tenant, over } of haltModel.all()) violate(`I22: ${over} of ${tenant} is still halted`);
  for (const [[tenant, key], { row }] of tables.rows("setting").sorted()) {
    if (key !== "hlt_all") continue;
    const { halts } = JSON.parse(row) as HaltRow;
    for (const { over } of halts) violate(`I22: ${over} of ${tenant} was lifted, but its row has a halt`);
  }
}
