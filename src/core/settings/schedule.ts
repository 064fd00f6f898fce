import type { Principal } from "../approval/principal.ts";
import type { Confirmation } from "../event/event.ts";
import { timerPut } from "../evolve/event-rows.ts";
import type { RunBudget } from "../limits/budget.ts";
import { defaultQueue } from "../store/select-fairly.ts";
import type { Put } from "../store/store.ts";
import type { ScheduleRow } from "../store/tables.ts";
import { type Cron, nextCronTime, parseCron, previousCronTime } from "../time/cron.ts";
import { TimeZone } from "../time/time-zone.ts";
import { assert } from "../values/assert.ts";
import type { Mode } from "../values/effect.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { HeldIn } from "../values/held-in.ts";
import type { Digest, Instant, RunId } from "../values/ids.ts";
import type { Json, JsonObject } from "../values/json.ts";

/** The times at which a plan is submitted. */
export type ScheduleTerms = Pick<ScheduleRow, "cron" | "zone" | "catch_up">;

/** The submission that is made each time. */
export interface ScheduleOrder {
  readonly plan: Json;
  readonly principal: Principal;
  readonly context: JsonObject;
  readonly mode: Mode | null;
  readonly deadline_ms: number | null;
  readonly queue: string;
  readonly priority: number;
  readonly project?: string;
  readonly session?: string;
  readonly confirmed?: Confirmation;
  readonly budgets?: readonly RunBudget[];
  readonly title?: string;
  readonly labels?: readonly string[];
  /** The static rules of the engine that set the schedule. Absent in a schedule of an older version. */
  readonly rules?: Digest;
}

/** An event in the journal of a schedule. Each records the next time, so that it is never computed again. */
export type ScheduleEvent = { readonly at: Instant; readonly next_at: Instant | null } & HeldIn &
  (
    | {
        readonly type: "schedule.set";
        /** Absent: the principal of the order set the schedule itself. */
        readonly by?: string;
        readonly schedule: string;
        readonly terms: ScheduleTerms;
        readonly order: ScheduleOrder;
      }
    | { readonly type: "schedule.fired"; readonly firing: ScheduleFiring; readonly run_id: RunId }
    | { readonly type: "schedule.refused"; readonly firing: ScheduleFiring; readonly fault: Fault }
    /** No worker fired the schedule in time, and it does not catch up. */
    | { readonly type: "schedule.skipped"; readonly firing: ScheduleFiring }
    | { readonly type: "schedule.paused"; readonly by: string }
    | { readonly type: "schedule.resumed"; readonly by: string }
    | { readonly type: "schedule.removed"; readonly by: string }
  );

/** One firing of a schedule. */
export interface ScheduleFiring {
  readonly due_at: Instant;
  /** The earliest missed time before this firing that is not caught up, or null. */
  readonly missed_from: Instant | null;
}

export type ScheduleCommand = { readonly now: Instant } & HeldIn &
  (
    | {
        readonly type: "set";
        readonly by: string;
        readonly schedule: string;
        readonly terms: ScheduleTerms;
        readonly order: ScheduleOrder;
      }
    | { readonly type: "fire"; readonly firing: ScheduleFiring; readonly outcome: FiringOutcome }
    | { readonly type: "pause"; readonly by: string }
    | { readonly type: "resume"; readonly by: string }
    | { readonly type: "remove"; readonly by: string }
  );

/** The result of a firing. */
export type FiringOutcome =
  | { readonly kind: "run"; readonly run_id: RunId }
  | { readonly kind: "refusal"; readonly fault: Fault }
  | { readonly kind: "nothing" };

/** A firing later than this is skipped by a schedule that does not catch up. */
const LATE_MS = 5 * 60_000;

/** Missed times older than this are not caught up. */
const CATCH_UP_MS = 7 * 24 * 60 * 60_000;

/** Returns the problem of the terms of a schedule, or null. */
export function scheduleProblem({ cron, zone, catch_up }: ScheduleTerms, now: Instant): string | null {
  const parsed = parseCron(cron);
  if ("wrong" in parsed) return `cron: ${parsed.wrong}`;
  const timeZone = TimeZone.of(zone);
  if (timeZone === null) return `zone: there is no time zone ${zone}; give an IANA name, like Europe/Berlin`;
  if (!["all", "latest", "none"].includes(catch_up)) return "catchUp must be all, latest or none";
  return nextCronTime(parsed, timeZone, now) === null ? `cron: no time matches ${cron}` : null;
}

/** Returns the firing that is due, or null, and whether it is too late and is to be skipped. */
export function dueFiring(row: ScheduleRow, now: Instant): (ScheduleFiring & { readonly late: boolean }) | null {
  const { next_at } = row;
  if (row.status !== "on" || next_at === null || next_at > now) return null;
  const due_at = firingDueAt(row, next_at, now);
  const late = row.catch_up === "none" && now - due_at > LATE_MS;
  return { due_at, missed_from: due_at > next_at ? next_at : null, late };
}

function firingDueAt(row: ScheduleRow, next_at: Instant, now: Instant): Instant {
  const { cron, zone } = parseTerms(row);
  const latest = previousCronTime(cron, zone, now) as Instant; // Not null: `next_at` matched the expression.
  const oldest = (now - CATCH_UP_MS) as Instant;
  // The recorded time counts, even if the rules of the zone have changed since.
  if (row.catch_up !== "all") return Math.max(latest, next_at) as Instant;
  return next_at >= oldest ? next_at : (Math.min(nextCronTime(cron, zone, oldest) as Instant, latest) as Instant);
}

/** Returns the event for a command, null if it changes nothing, or the fault. */
export function decideSchedule(row: ScheduleRow | null, command: ScheduleCommand): ScheduleEvent | Fault | null {
  const event = decideScheduleCommand(row, command);
  if (event === null || "code" in event || command.held_in === undefined) return event;
  return { ...event, held_in: command.held_in };
}

function decideScheduleCommand(row: ScheduleRow | null, command: ScheduleCommand): ScheduleEvent | Fault | null {
  const { now: at } = command;
  if (command.type === "set") {
    const { schedule, terms, order } = command;
    const by = command.by === order.principal.id ? {} : { by: command.by };
    return { type: "schedule.set", at, ...by, schedule, terms, order, next_at: nextTimeAfterSet(row, terms, at) };
  }
  if (row === null) return fault("SCHEDULE_NOT_FOUND", "there is no such schedule");
  switch (command.type) {
    case "fire":
      return decideFiring(row, command);
    case "pause":
      return row.status === "paused" ? null : { type: "schedule.paused", at, by: command.by, next_at: null };
    case "resume":
      if (row.status === "on") return null;
      return { type: "schedule.resumed", at, by: command.by, next_at: nextTimeAfter(row, at) };
    case "remove":
      return { type: "schedule.removed", at, by: command.by, next_at: null };
  }
}

/** Setting a schedule to the same times keeps its next time. A paused schedule stays paused, with any times. */
function nextTimeAfterSet(row: ScheduleRow | null, terms: ScheduleTerms, now: Instant): Instant | null {
  if (row?.status === "paused") return null;
  return row !== null && row.cron === terms.cron && row.zone === terms.zone ? row.next_at : nextTimeAfter(terms, now);
}

/** Records a firing. If the schedule was set or paused meanwhile, its new next time is kept. */
function decideFiring(row: ScheduleRow, { now: at, firing, outcome }: Extract<ScheduleCommand, { type: "fire" }>) {
  const expected = firing.missed_from ?? firing.due_at;
  const next_at = row.next_at === expected ? nextTimeAfter(row, firing.due_at) : row.next_at;
  switch (outcome.kind) {
    case "run":
      return { type: "schedule.fired", at, firing, run_id: outcome.run_id, next_at } as const;
    case "refusal":
      return { type: "schedule.refused", at, firing, fault: outcome.fault, next_at } as const;
    case "nothing":
      return { type: "schedule.skipped", at, firing, next_at } as const;
  }
}

/** Returns a schedule after an event; null if it was removed. */
export function evolveSchedule(row: ScheduleRow | null, event: ScheduleEvent, position: number): ScheduleRow | null {
  const { next_at } = event;
  if (event.type === "schedule.set") {
    const { schedule, terms, order } = event;
    const { queue, priority, rules } = order;
    const last = row?.last ?? null;
    const set = { schedule, status: row?.status ?? "on", ...terms, queue, priority, order: position, next_at, last };
    return rules === undefined ? set : { ...set, rules };
  }
  assert(row !== null, "a schedule is set before any other event");
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

export function foldSchedule(events: readonly ScheduleEvent[]): ScheduleRow | null {
  return events.reduce<ScheduleRow | null>((row, event, index) => evolveSchedule(row, event, index + 1), null);
}

/** Returns the rows of a schedule: its settings, and the timer of its next firing. */
export function schedulePuts(journal: RunId, row: ScheduleRow | null): readonly Put[] {
  const setting = { table: "setting", key: journal, was: "any", row: row && JSON.stringify(row) } as const;
  const { queue, priority, rules: digest } = row ?? DEFAULT_QUEUE;
  const rules = digest === undefined ? null : { digest };
  return [setting, timerPut(journal, row?.next_at ?? null, { queue, priority, rules })];
}

/** The queue of a removed schedule, which has no timer. */
const DEFAULT_QUEUE: Pick<ScheduleRow, "queue" | "priority" | "rules"> = { queue: defaultQueue, priority: 0 };

function nextTimeAfter(terms: ScheduleTerms, after: Instant): Instant | null {
  const { cron, zone } = parseTerms(terms);
  return nextCronTime(cron, zone, after);
}

function parseTerms(terms: ScheduleTerms): { readonly cron: Cron; readonly zone: TimeZone } {
  const cron = parseCron(terms.cron);
  const zone = TimeZone.of(terms.zone);
  assert(!("wrong" in cron) && zone !== null, "the terms of a schedule were checked before they were recorded");
  return { cron, zone };
}
