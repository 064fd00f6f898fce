import { describe, expect, it } from "vitest";
import type { Instant, RunId, Tenant } from "../id.ts";
import type { ScheduleRow } from "../rows.ts";
import {
  decideSchedule,
  evolveSchedule,
  type Firing,
  firingAt,
  flawIn,
  type Order,
  type ScheduleCommand,
  type ScheduleEvent,
  scheduleOf,
  schedulePuts,
  type Terms,
} from "./schedule.ts";

const HOUR = 60 * 60_000;
const midnight = Date.parse("2026-11-16T00:00Z");
const at = (hours: number): Instant => (midnight + hours * HOUR) as Instant;
const journal = "sch_1" as RunId;
const order: Order = {
  plan: { steps: [] },
  principal: { id: "bot", kind: "agent", tenant: "acme" as Tenant },
  context: {},
  mode: null,
  deadline_ms: null,
  queue: "mail",
  priority: 2,
};

const setting = (catch_up: ScheduleRow["catch_up"]): ScheduleCommand => ({
  type: "set",
  now: at(0.5),
  schedule: "hello",
  terms: { cron: "0 * * * *", zone: "UTC", catch_up },
  order,
});

const fire = (firing: Firing): ScheduleCommand => ({
  type: "fire",
  now: firing.due_at,
  firing,
  outcome: { became: "run", run_id: "run_1" as RunId },
});

/** A schedule after these commands, and what they became. */
function told(...commands: readonly ScheduleCommand[]) {
  const events: ScheduleEvent[] = [];
  let row: ScheduleRow | null = null;
  for (const command of commands) {
    const event = decideSchedule(row, command);
    if (event === null || "code" in event) return { row, events, refusal: event };
    events.push(event);
    row = evolveSchedule(row, event, events.length);
  }
  return { row, events, refusal: null };
}

const set = (catch_up: ScheduleRow["catch_up"]): ScheduleRow => told(setting(catch_up)).row as ScheduleRow;

describe("what a schedule is due for", () => {
  it("is nothing before its time", () => {
    expect(firingAt(set("latest"), at(0.9))).toBeNull();
  });

  it.each([
    ["all", 3.5, { due_at: at(1), missed_from: null, late: false }],
    ["all", 24 * 8 + 0.5, { due_at: at(25), missed_from: at(1), late: false }],
    ["all", 24 * 400, { due_at: at(24 * 400 - 24 * 7 + 1), missed_from: at(1), late: false }],
    ["latest", 1, { due_at: at(1), missed_from: null, late: false }],
    ["latest", 3.5, { due_at: at(3), missed_from: at(1), late: false }],
    ["none", 3.01, { due_at: at(3), missed_from: at(1), late: false }],
    ["none", 3.5, { due_at: at(3), missed_from: at(1), late: true }],
  ] as const)("that makes up for %s, %d hours later", (catch_up, hours, firing) => {
    expect(firingAt(set(catch_up), at(hours))).toEqual(firing);
  });
});

it("that comes once a year is made up for, though that was more than a week ago", () => {
  const yearly: ScheduleCommand = {
    ...setting("all"),
    terms: { cron: "@yearly", zone: "UTC", catch_up: "all" },
  } as never;
  const row = told(yearly).row as ScheduleRow;
  expect(firingAt(row, at(24 * 100))).toMatchObject({ due_at: Date.parse("2027-01-01T00:00Z") });
});

it.each([
  [{}, null],
  [{ cron: "* * * *" }, "cron: it must have five fields"],
  [{ cron: "0 0 31 2 *" }, "cron: 0 0 31 2 * never comes"],
  [{ zone: "Mars/Olympus" }, "zone: there is no time zone Mars/Olympus"],
  [{ catch_up: "some" }, "catchUp must be all, latest or none"],
])("terms with %j are flawed: %s", (wrong, flaw) => {
  const terms = { cron: "@daily", zone: "UTC", catch_up: "all", ...wrong } as Terms;
  expect(flawIn(terms, at(0))).toEqual(flaw && expect.stringContaining(flaw));
});

describe("what was submitted while the schedule was", () => {
  const firing = { due_at: at(1), missed_from: null };

  it("left alone is followed by what comes next", () => {
    expect(told(setting("latest"), fire(firing)).row).toMatchObject({ next_at: at(2), last: { run_id: "run_1" } });
  });

  it("set anew is on the record, and the schedule goes by what was said", () => {
    const terms = { cron: "0 */5 * * *", zone: "UTC", catch_up: "latest" } as const;
    const anew = { ...setting("latest"), terms, now: at(4.5) } as ScheduleCommand;
    expect(told(setting("latest"), anew, fire(firing)).row).toMatchObject({
      next_at: at(5),
      last: { run_id: "run_1" },
    });
  });

  it("paused is on the record, and the schedule stays paused", () => {
    const pause: ScheduleCommand = { type: "pause", now: at(1), by: "ana" };
    expect(told(setting("latest"), pause, fire(firing)).row).toMatchObject({ status: "paused", next_at: null });
  });

  it("removed has no schedule to be on the record of", () => {
    const remove: ScheduleCommand = { type: "remove", now: at(1), by: "ana" };
    const { row, refusal } = told(setting("latest"), remove, fire(firing));
    expect([row, refusal]).toMatchObject([null, { code: "SCHEDULE_NOT_FOUND" }]);
  });
});

it("goes by the time on record, though the rules of its zone have changed since", () => {
  const row: ScheduleRow = { ...set("latest"), next_at: at(1.5) };
  expect(firingAt(row, at(1.6))).toMatchObject({ due_at: at(1.5), missed_from: null });
  expect(told(setting("latest")).row?.next_at).toBe(at(1));
});

it("a wish that is fulfilled already is no fact", () => {
  const resume: ScheduleCommand = { type: "resume", now: at(1), by: "ana" };
  const pause: ScheduleCommand = { ...resume, type: "pause" };
  expect(told(setting("latest"), resume)).toMatchObject({ events: [{}], refusal: null });
  expect(told(setting("latest"), pause, pause).events).toHaveLength(2);
});

it("is what its events add up to, and its rows say so", () => {
  const firing = { due_at: at(1), missed_from: null };
  const refused: ScheduleCommand = {
    ...fire(firing),
    type: "fire",
    firing,
    outcome: { became: "refusal", fault: { code: "PLAN_INVALID", message: "no" } },
  };
  const skipped: ScheduleCommand = { ...refused, outcome: { became: "nothing" } };
  const pause: ScheduleCommand = { type: "pause", now: at(2), by: "ana" };
  const { row, events } = told(setting("latest"), fire(firing), refused, skipped, pause, { ...pause, type: "resume" });
  expect(events.map(({ type }) => type.split(".")[1])).toEqual([
    "set",
    "fired",
    "refused",
    "skipped",
    "paused",
    "resumed",
  ]);
  expect(scheduleOf(events)).toEqual(row);
  expect(schedulePuts(journal, row).map(({ table, row }) => [table, row && JSON.parse(row)])).toEqual([
    ["setting", row],
    ["timer", { due_at: row?.next_at, queue: "mail", priority: 2 }],
  ]);
  expect(schedulePuts(journal, null).map(({ row }) => row)).toEqual([null, null]);
});
