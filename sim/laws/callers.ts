import type { Event } from "../../src/core/event.ts";
import type { RunId, Tenant } from "../../src/core/id.ts";
import type { SignalRow } from "../../src/core/rows.ts";
import type { Request, SignalSent } from "../../src/core/signal.ts";
import type { ScheduleEvent } from "../../src/core/time/schedule.ts";
import { bodyText } from "../body.ts";
import type { Scene } from "../scene.ts";

/** Later than this is late, for an order that does not catch up; told again here so that the law is not its own judge. */
const LATE_MS = 5 * 60_000;

/** I17: a signal is delivered once or kept, never both, never neither once its sender was told. I18: an order is for each time once. */
export function judgeCallers(scene: Scene, heard: ReadonlySet<number>): void {
  const seen = new Map<number, number>();
  const kept = new Set<number>();
  for (const [path, stored] of scene.tables.events.sorted()) {
    const [tenant, run] = [String(path[0]) as Tenant, String(path[1])];
    const events = stored.map(
      ({ type, at, body }) => ({ type, at, ...JSON.parse(bodyText(scene.tables, tenant, body ?? "{}")) }) as never,
    );
    if (run.startsWith("sig_")) for (const signal of inBox(scene, tenant, events)) kept.add(signal);
    else if (run.startsWith("sch_")) judgeOrder(scene, run, events);
    else for (const signal of takenIn(events)) seen.set(signal, (seen.get(signal) ?? 0) + 1);
  }
  scene.counts.signals += seen.size;
  for (const [signal, times] of seen) {
    if (times > 1) scene.violate(`I17: signal ${signal} was delivered ${times} times`);
    if (kept.has(signal)) scene.violate(`I17: signal ${signal} was delivered, and is in its box`);
  }
  for (const signal of heard)
    if (!seen.has(signal) && !kept.has(signal)) scene.violate(`I17: signal ${signal} was sent, and is nowhere`);
}

function takenIn(events: readonly Event[]): readonly number[] {
  return events.flatMap((event) => {
    if (event.type !== "step.succeeded" || event.signal === undefined) return [];
    const { signal } = event.output as { readonly signal?: unknown };
    return typeof signal === "number" ? [signal] : [];
  });
}

/** What nobody has taken out yet. */
function inBox({ tables }: Scene, tenant: Tenant, events: readonly SignalSent[]): readonly number[] {
  const key = events[0]?.box.key ?? "";
  const row = tables.row(tenant, "signal", key);
  const taken = row === null ? 0 : (JSON.parse(row.row) as SignalRow).taken;
  return events.slice(taken).flatMap(({ payload }) => (typeof payload === "number" ? [payload] : []));
}

function judgeOrder(scene: Scene, order: string, events: readonly ScheduleEvent[]): void {
  const runs = new Set<string>();
  let last = 0;
  let next: number | null = null;
  let catchUp = "";
  for (const event of events) {
    if (event.type === "schedule.set") catchUp = event.terms.catch_up;
    if ("firing" in event) {
      const { due_at, missed_from } = event.firing;
      if (due_at <= last) scene.violate(`I18: ${order} was for ${due_at} after it was for ${last}`);
      if (due_at > event.at || due_at % 60_000 !== 0) scene.violate(`I18: ${order} was for ${due_at} at ${event.at}`);
      if ((missed_from ?? due_at) !== next) scene.violate(`I18: ${order} was due at ${next}, and was for ${due_at}`);
      if (catchUp === "all" && missed_from !== null) scene.violate(`I18: ${order} did not make up for ${missed_from}`);
      if (catchUp === "none" && event.type === "schedule.fired" && event.at - due_at > LATE_MS)
        scene.violate(`I18: ${order} was for ${due_at}, which was late at ${event.at}`);
      last = due_at;
    }
    if (event.type === "schedule.fired") {
      scene.counts.firings += 1;
      if (runs.has(event.run_id)) scene.violate(`I18: ${order} says twice that it made ${event.run_id}`);
      runs.add(event.run_id);
    }
    next = event.next_at;
  }
  judgeRuns(scene, order, runs, events);
}

/** Every run of an order is one that it tells of, unless it was removed before whoever comes next could tell. */
function judgeRuns(scene: Scene, order: string, told: ReadonlySet<string>, events: readonly ScheduleEvent[]): void {
  const made = Array.from(scene.record.all(), ({ run }) => run).filter(
    ({ correlation_id }) => correlation_id === order,
  );
  const times = new Set<number>(
    events.flatMap((event) => (event.type === "schedule.fired" ? [event.firing.due_at] : [])),
  );
  for (const { id, tenant } of made) {
    if (told.has(id)) continue;
    if (events.at(-1)?.type !== "schedule.removed") scene.violate(`I18: ${order} never tells of ${id}`);
    const due = dueOf(scene, tenant, id);
    if (times.has(due)) scene.violate(`I18: ${order} made ${id} for ${due}, and tells of another`);
    times.add(due);
  }
  for (const id of told)
    if (!made.some((run) => run.id === id)) scene.violate(`I18: ${order} tells of ${id}, which is not there`);
}

/** The time that a run was made for. */
function dueOf({ tables }: Scene, tenant: Tenant, run: RunId): number {
  const [first] = tables.events.get(tenant, run) ?? [];
  const { request } = JSON.parse(bodyText(tables, tenant, first?.body ?? "{}")) as { readonly request?: Request };
  return Number(request?.key.split(":").at(-1));
}
