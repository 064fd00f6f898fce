import { assert } from "../assert.ts";
import type { Mode } from "../effect.ts";
import { type Fault, fault } from "../fault.ts";
import type { Instant, RunId } from "../id.ts";
import type { Json, JsonObject } from "../json/json.ts";
import type { Principal } from "../principal.ts";
import type { ScheduleRow } from "../rows.ts";
import { timerPut } from "../rows-of.ts";
import type { Put } from "../store.ts";
import { queueDefault } from "../turns.ts";
import { type Cron, momentAfter, momentUntil, readCron } from "./cron.ts";
import { Zone } from "./zone.ts";

/** When a plan is submitted again and again. */
export type Terms = Pick<ScheduleRow, "cron" | "zone" | "catch_up">;

/** What is submitted each time, and as whom. */
export interface Order {
  readonly plan: Json;
  readonly principal: Principal;
  readonly context: JsonObject;
  readonly mode: Mode | null;
  readonly deadline_ms: number | null;
  readonly queue: string;
  readonly priority: number;
}

/** What is written into the journal of a schedule. Each says what comes next, so that nobody has to work it out again. */
export type ScheduleEvent = { readonly at: Instant; readonly next_at: Instant | null } & (
  | { readonly type: "schedule.set"; readonly schedule: string; readonly terms: Terms; readonly order: Order }
  | { readonly type: "schedule.fired"; readonly firing: Firing; readonly run_id: RunId }
  | { readonly type: "schedule.refused"; readonly firing: Firing; readonly fault: Fault }
  /** Nobody was there in time, and late is not wanted. */
  | { readonly type: "schedule.skipped"; readonly firing: Firing }
  | { readonly type: "schedule.paused"; readonly by: string }
  | { readonly type: "schedule.resumed"; readonly by: string }
  | { readonly type: "schedule.removed"; readonly by: string }
);

/** One time that a schedule is for. */
export interface Firing {
  readonly due_at: Instant;
  /** The first of those before it that nobody was there for and nobody will make up for. */
  readonly missed_from: Instant | null;
}

export type ScheduleCommand = { readonly now: Instant } & (
  | { readonly type: "set"; readonly schedule: string; readonly terms: Terms; readonly order: Order }
  | { readonly type: "fire"; readonly firing: Firing; readonly outcome: Upshot }
  | { readonly type: "pause"; readonly by: string }
  | { readonly type: "resume"; readonly by: string }
  | { readonly type: "remove"; readonly by: string }
);

/** What came of a firing. */
export type Upshot =
  | { readonly became: "run"; readonly run_id: RunId }
  | { readonly became: "refusal"; readonly fault: Fault }
  | { readonly became: "nothing" };

/** Later than this is late, for a schedule that does not want to catch up. */
const LATE_MS = 5 * 60_000;

/** Further back than this nothing is made up for. */
const CATCH_UP_MS = 7 * 24 * 60 * 60_000;

/** What is wrong with the terms of a schedule; null: nothing. */
export function flawIn({ cron, zone, catch_up }: Terms, now: Instant): string | null {
  const read = readCron(cron);
  if ("wrong" in read) return `cron: ${read.wrong}`;
  const place = Zone.of(zone);
  if (place === null) return `zone: there is no time zone ${zone}; give an IANA name, like Europe/Berlin`;
  if (!["all", "latest", "none"].includes(catch_up)) return "catchUp must be all, latest or none";
  return momentAfter(read, place, now) === null ? `cron: ${cron} never comes` : null;
}

/** What a schedule is due for, if anything, and whether that comes too late to be wanted. */
export function firingAt(row: ScheduleRow, now: Instant): (Firing & { readonly late: boolean }) | null {
  const { next_at } = row;
  if (row.status !== "on" || next_at === null || next_at > now) return null;
  const due_at = dueFor(row, next_at, now);
  const late = row.catch_up === "none" && now - due_at > LATE_MS;
  return { due_at, missed_from: due_at > next_at ? next_at : null, late };
}

function dueFor(row: ScheduleRow, next_at: Instant, now: Instant): Instant {
  const { cron, zone } = calendarOf(row);
  const latest = momentUntil(cron, zone, now) as Instant; // There is one: the next was one of them.
  const oldest = (now - CATCH_UP_MS) as Instant;
  // What was recorded counts, though the rules of the zone may have changed since.
  if (row.catch_up !== "all") return Math.max(latest, next_at) as Instant;
  return next_at >= oldest ? next_at : (Math.min(momentAfter(cron, zone, oldest) as Instant, latest) as Instant);
}

/** The fact that a command becomes; null: there is nothing to say; or why it cannot be. */
export function decideSchedule(row: ScheduleRow | null, command: ScheduleCommand): ScheduleEvent | Fault | null {
  const { now: at } = command;
  if (command.type === "set") {
    const { schedule, terms, order } = command;
    return { type: "schedule.set", at, schedule, terms, order, next_at: nextOf(row, terms, at) };
  }
  if (row === null) return fault("SCHEDULE_NOT_FOUND", "there is no such schedule");
  switch (command.type) {
    case "fire":
      return fired(row, command);
    case "pause":
      return row.status === "paused" ? null : { type: "schedule.paused", at, by: command.by, next_at: null };
    case "resume":
      if (row.status === "on") return null;
      return { type: "schedule.resumed", at, by: command.by, next_at: following(row, at) };
    case "remove":
      return { type: "schedule.removed", at, by: command.by, next_at: null };
  }
}

/** What is set to the same times goes on as it is: what is due stays due, and what is paused stays paused, whatever its times. */
function nextOf(row: ScheduleRow | null, terms: Terms, now: Instant): Instant | null {
  if (row?.status === "paused") return null;
  return row !== null && row.cron === terms.cron && row.zone === terms.zone ? row.next_at : following(terms, now);
}

/** A schedule that was set anew or paused meanwhile goes by that; what was submitted was submitted. */
function fired(row: ScheduleRow, { now: at, firing, outcome }: Extract<ScheduleCommand, { type: "fire" }>) {
  const begun = firing.missed_from ?? firing.due_at;
  const next_at = row.next_at === begun ? following(row, firing.due_at) : row.next_at;
  switch (outcome.became) {
    case "run":
      return { type: "schedule.fired", at, firing, run_id: outcome.run_id, next_at } as const;
    case "refusal":
      return { type: "schedule.refused", at, firing, fault: outcome.fault, next_at } as const;
    case "nothing":
      return { type: "schedule.skipped", at, firing, next_at } as const;
  }
}

/** A schedule after one more fact. Null: there is none. */
export function evolveSchedule(row: ScheduleRow | null, event: ScheduleEvent, position: number): ScheduleRow | null {
  const { next_at } = event;
  if (event.type === "schedule.set") {
    const { schedule, terms, order } = event;
    const { queue, priority } = order;
    const last = row?.last ?? null;
    return { schedule, status: row?.status ?? "on", ...terms, queue, priority, order: position, next_at, last };
  }
  assert(row !== null, "a schedule is set before anything else is said of it");
  switch (event.type) {
    case "schedule.fired":
      return { ...row, next_at, last: { due_at: event.firing.due_at, run_id: event.run_id, fault: null } };
    case "schedule.refused":
      return { ...row, next_at, last: { due_at: event.firing.due_at, run_id: null, fault: event.fault } };
    case "schedule.skipped":
      return { ...row, next_at };
    case "schedule.paused":
      return { ...row, status: "paused", next_at };
    case "schedule.resumed":
      return { ...row, status: "on", next_at };
    case "schedule.removed":
      return null;
  }
}

export function scheduleOf(events: readonly ScheduleEvent[]): ScheduleRow | null {
  return events.reduce<ScheduleRow | null>((row, event, index) => evolveSchedule(row, event, index + 1), null);
}

/** The rows of a schedule: what it is, and when someone has to look at it. */
export function schedulePuts(journal: RunId, row: ScheduleRow | null): readonly Put[] {
  const setting = { table: "setting", key: journal, was: "any", row: row && JSON.stringify(row) } as const;
  return [setting, timerPut(journal, row?.next_at ?? null, row ?? NOWHERE)];
}

/** What is not due stands in no line. */
const NOWHERE = { queue: queueDefault, priority: 0 };

function following(terms: Terms, after: Instant): Instant | null {
  const { cron, zone } = calendarOf(terms);
  return momentAfter(cron, zone, after);
}

function calendarOf(terms: Terms): { readonly cron: Cron; readonly zone: Zone } {
  const cron = readCron(terms.cron);
  const zone = Zone.of(terms.zone);
  assert(!("wrong" in cron) && zone !== null, "the terms of a schedule were read before they were recorded");
  return { cron, zone };
}
