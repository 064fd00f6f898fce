import type { Event } from "../../src/core/event/event.ts";
import type { Request, SignalSent } from "../../src/core/event/signal.ts";
import type { ScheduleEvent } from "../../src/core/settings/schedule.ts";
import type { SignalRow } from "../../src/core/store/tables.ts";
import type { RunId, Tenant } from "../../src/core/values/ids.ts";
import { readEventBody } from "../read-event-body.ts";
import type { SimContext } from "../sim-context.ts";

/** A firing later than this is late. Copied from the design, so that the check does not depend on the engine. */
const LATE_MS = 5 * 60_000;

/**
 * I17: a signal is delivered once or stored, never both, and never lost once its sender was answered. I18: a schedule
 * fires once per time.
 */
export function checkSignalsAndSchedules(sim: SimContext, answered: ReadonlySet<number>): void {
  const delivered = new Map<number, number>();
  const stored = new Set<number>();
  for (const [path, storedEvents] of sim.tables.events.sorted()) {
    const [tenant, run] = [String(path[0]) as Tenant, String(path[1])];
    const events = storedEvents.map(
      ({ type, at, body }) => ({ type, at, ...JSON.parse(readEventBody(sim.tables, tenant, body ?? "{}")) }) as never,
    );
    if (run.startsWith("sig_")) for (const signal of storedSignals(sim, tenant, events)) stored.add(signal);
    else if (run.startsWith("sch_")) checkSchedule(sim, run, events);
    else for (const signal of deliveredSignals(events)) delivered.set(signal, (delivered.get(signal) ?? 0) + 1);
  }
  sim.counts.signals += delivered.size;
  for (const [signal, times] of delivered) {
    if (times > 1) sim.violate(`I17: signal ${signal} was delivered ${times} times`);
    if (stored.has(signal)) sim.violate(`I17: signal ${signal} was delivered, but is still stored`);
  }
  for (const signal of answered)
    if (!delivered.has(signal) && !stored.has(signal))
      sim.violate(`I17: signal ${signal} was sent, but is neither delivered nor stored`);
}

function deliveredSignals(events: readonly Event[]): readonly number[] {
  return events.flatMap((event) => {
    if (event.type !== "step.succeeded" || event.signal === undefined) return [];
    const { signal } = event.output as { readonly signal?: unknown };
    return typeof signal === "number" ? [signal] : [];
  });
}

/** Returns the signals of a box that no step has received. */
function storedSignals({ tables }: SimContext, tenant: Tenant, events: readonly SignalSent[]): readonly number[] {
  const key = events[0]?.box.key ?? "";
  const row = tables.row(tenant, "signal", key);
  const taken = row === null ? 0 : (JSON.parse(row.row) as SignalRow).taken;
  return events.slice(taken).flatMap(({ payload }) => (typeof payload === "number" ? [payload] : []));
}

function checkSchedule(sim: SimContext, schedule: string, events: readonly ScheduleEvent[]): void {
  const runs = new Set<string>();
  let last = 0;
  let next: number | null = null;
  let catchUp = "";
  for (const event of events) {
    if (event.type === "schedule.set") catchUp = event.terms.catch_up;
    if ("firing" in event) {
      const { due_at, missed_from } = event.firing;
      if (due_at <= last) sim.violate(`I18: ${schedule} fired for ${due_at} after ${last}`);
      if (due_at > event.at || due_at % 60_000 !== 0)
        sim.violate(`I18: ${schedule} fired for ${due_at} at ${event.at}`);
      if ((missed_from ?? due_at) !== next) sim.violate(`I18: ${schedule} was due at ${next}, but fired for ${due_at}`);
      if (catchUp === "all" && missed_from !== null)
        sim.violate(`I18: ${schedule} did not catch up from ${missed_from}`);
      if (catchUp === "none" && event.type === "schedule.fired" && event.at - due_at > LATE_MS)
        sim.violate(`I18: ${schedule} fired for ${due_at} too late, at ${event.at}`);
      last = due_at;
    }
    if (event.type === "schedule.fired") {
      sim.counts.firings += 1;
      if (runs.has(event.run_id)) sim.violate(`I18: ${schedule} records ${event.run_id} twice`);
      runs.add(event.run_id);
    }
    next = event.next_at;
  }
  checkScheduledRuns(sim, schedule, runs, events);
}

/** Every run of a schedule is recorded in its journal, unless the schedule was removed before the next firing. */
function checkScheduledRuns(
  sim: SimContext,
  schedule: string,
  recorded: ReadonlySet<string>,
  events: readonly ScheduleEvent[],
): void {
  const made = Array.from(sim.observer.all(), ({ run }) => run).filter(
    ({ correlation_id }) => correlation_id === schedule,
  );
  const times = new Set<number>(
    events.flatMap((event) => (event.type === "schedule.fired" ? [event.firing.due_at] : [])),
  );
  for (const { id, tenant } of made) {
    if (recorded.has(id)) continue;
    if (events.at(-1)?.type !== "schedule.removed") sim.violate(`I18: ${schedule} has no record of ${id}`);
    const due = dueTime(sim, tenant, id);
    if (times.has(due)) sim.violate(`I18: ${schedule} made ${id} for ${due}, but records another run`);
    times.add(due);
  }
  for (const id of recorded)
    if (!made.some((run) => run.id === id)) sim.violate(`I18: ${schedule} records ${id}, which does not exist`);
}

/** Returns the time for which a schedule submitted the run. */
function dueTime({ tables }: SimContext, tenant: Tenant, run: RunId): number {
  const [first] = tables.events.get(tenant, run) ?? [];
  const { request } = JSON.parse(readEventBody(tables, tenant, first?.body ?? "{}")) as { readonly request?: Request };
  return Number(request?.key.split(":").at(-1));
}
