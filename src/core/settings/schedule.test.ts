import { describe, expect, it } from "vitest";
import type { ScheduleRow } from "../store/tables.ts";
import type { Instant, RunId, Tenant } from "../values/ids.ts";
import {
  decideSchedule,
  dueFiring,
  evolveSchedule,
  foldSchedule,
  type ScheduleCommand,
  type ScheduleEvent,
  type ScheduleFiring,
  type ScheduleOrder,
  type ScheduleTerms,
  scheduleProblem,
  schedulePuts,
} from "./schedule.ts";

const HOUR = 60 * 60_000;
const midnight = Date.parse("2026-11-16T00:00Z");
const at = (hours: number): Instant => (midnight + hours * HOUR) as Instant;
const journal = "sch_1" as RunId;
const order: ScheduleOrder = {
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
  by: "bot",
  now: at(0.5),
  schedule: "hello",
  terms: { cron: "0 * * * *", zone: "UTC", catch_up },
  order,
});

const fire = (firing: ScheduleFiring): ScheduleCommand => ({
  type: "fire",
  now: firing.due_at,
  firing,
  outcome: { kind: "run", run_id: "run_1" as RunId },
});

/** Returns the schedule after these commands, with their events. */
function decideAll(...commands: readonly ScheduleCommand[]) {
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

const set = (catch_up: ScheduleRow["catch_up"]): ScheduleRow => decideAll(setting(catch_up)).row as ScheduleRow;

describe("the due firing of a schedule", () => {
  it("is null before its time", () => {
    expect(dueFiring(set("latest"), at(0.9))).toBeNull();
  });

  it.each([
    ["all", 3.5, { due_at: at(1), missed_from: null, late: false }],
    ["all", 24 * 8 + 0.5, { due_at: at(25), missed_from: at(1), late: false }],
    ["all", 24 * 400, { due_at: at(24 * 400 - 24 * 7 + 1), missed_from: at(1), late: false }],
    ["latest", 1, { due_at: at(1), missed_from: null, late: false }],
    ["latest", 3.5, { due_at: at(3), missed_from: at(1), late: false }],
    ["none", 3.01, { due_at: at(3), missed_from: at(1), late: false }],
    ["none", 3.5, { due_at: at(3), missed_from: at(1), late: true }],
  ] as const)("with catch_up %s, %d hours later", (catch_up, hours, firing) => {
    expect(dueFiring(set(catch_up), at(hours))).toEqual(firing);
  });
});

it("a yearly firing is caught up even if it was missed more than a week ago", () => {
  const yearly: ScheduleCommand = {
    ...setting("all"),
    terms: { cron: "@yearly", zone: "UTC", catch_up: "all" },
  } as never;
  const row = decideAll(yearly).row as ScheduleRow;
  expect(dueFiring(row, at(24 * 100))).toMatchObject({ due_at: Date.parse("2027-01-01T00:00Z") });
});

it.each([
  [{}, null],
  [{ cron: "* * * *" }, "cron: it must have five fields"],
  [{ cron: "0 0 31 2 *" }, "cron: no time matches 0 0 31 2 *"],
  [{ zone: "Mars/Olympus" }, "zone: there is no time zone Mars/Olympus"],
  [{ catch_up: "some" }, "catchUp must be all, latest or none"],
])("terms with %j have the problem: %s", (wrong, problem) => {
  const terms = { cron: "@daily", zone: "UTC", catch_up: "all", ...wrong } as ScheduleTerms;
  expect(scheduleProblem(terms, at(0))).toEqual(problem && expect.stringContaining(problem));
});

describe("a firing is recorded", () => {
  const firing = { due_at: at(1), missed_from: null };

  it("and the next time follows, if the schedule is unchanged", () => {
    expect(decideAll(setting("latest"), fire(firing)).row).toMatchObject({ next_at: at(2), last: { run_id: "run_1" } });
  });

  it("and the new times are kept, if the schedule was set again", () => {
    const terms = { cron: "0 */5 * * *", zone: "UTC", catch_up: "latest" } as const;
    const setAgain = { ...setting("latest"), terms, now: at(4.5) } as ScheduleCommand;
    expect(decideAll(setting("latest"), setAgain, fire(firing)).row).toMatchObject({
      next_at: at(5),
      last: { run_id: "run_1" },
    });
  });

  it("and the schedule stays paused, if it was paused", () => {
    const pause: ScheduleCommand = { type: "pause", now: at(1), by: "ana" };
    expect(decideAll(setting("latest"), pause, fire(firing)).row).toMatchObject({ status: "paused", next_at: null });
  });

  it("as SCHEDULE_NOT_FOUND, if the schedule was removed", () => {
    const remove: ScheduleCommand = { type: "remove", now: at(1), by: "ana" };
    const { row, refusal } = decideAll(setting("latest"), remove, fire(firing));
    expect([row, refusal]).toMatchObject([null, { code: "SCHEDULE_NOT_FOUND" }]);
  });
});

it("a schedule fires at the recorded time, even if the rules of its zone have changed since", () => {
  const row: ScheduleRow = { ...set("latest"), next_at: at(1.5) };
  expect(dueFiring(row, at(1.6))).toMatchObject({ due_at: at(1.5), missed_from: null });
  expect(decideAll(setting("latest")).row?.next_at).toBe(at(1));
});

it("a command that changes nothing makes no event", () => {
  const resume: ScheduleCommand = { type: "resume", now: at(1), by: "ana" };
  const pause: ScheduleCommand = { ...resume, type: "pause" };
  expect(decideAll(setting("latest"), resume)).toMatchObject({ events: [{}], refusal: null });
  expect(decideAll(setting("latest"), pause, pause).events).toHaveLength(2);
});

it("a schedule is the fold of its events, and its rows match it", () => {
  const firing = { due_at: at(1), missed_from: null };
  const refused: ScheduleCommand = {
    ...fire(firing),
    type: "fire",
    firing,
    outcome: { kind: "refusal", fault: { code: "PLAN_INVALID", message: "no" } },
  };
  const skipped: ScheduleCommand = { ...refused, outcome: { kind: "nothing" } };
  const pause: ScheduleCommand = { type: "pause", now: at(2), by: "ana" };
  const { row, events } = decideAll(setting("latest"), fire(firing), refused, skipped, pause, {
    ...pause,
    type: "resume",
  });
  expect(events.map(({ type }) => type.split(".")[1])).toEqual([
    "set",
    "fired",
    "refused",
    "skipped",
    "paused",
    "resumed",
  ]);
  expect(foldSchedule(events)).toEqual(row);
  expect(schedulePuts(journal, row).map(({ table, row }) => [table, row && JSON.parse(row)])).toEqual([
    ["setting", row],
    ["timer", { due_at: row?.next_at, queue: "mail", priority: 2 }],
  ]);
  expect(schedulePuts(journal, null).map(({ row }) => row)).toEqual([null, null]);
});
