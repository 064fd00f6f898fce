import type { PlantedBug } from "./plant-bug.ts";

/** Bugs in signals and schedules. */
export const signalBugs: readonly PlantedBug[] = [
  {
    name: "a received signal stays in its box",
    file: "core/decide/wait-step.js",
    find: "taken: box.taken + 1",
    replace: "taken: box.taken",
  },
  {
    name: "a resent signal counts as a new one",
    file: "core/evolve/event-rows.js",
    find: "if (request === null)\n        return puts;",
    replace: "if (request !== undefined)\n        return puts;",
  },
  {
    name: "a signal is stored although a step waits for it",
    file: "engine/messages/send-signal.js",
    find: "for (const [index, { run_id, step_id }] of box.waiters.entries())",
    replace: "for (const [index, { run_id, step_id }] of box.waiters.slice(0, -1).entries())",
  },
  {
    name: "a schedule fires repeatedly for one time",
    file: "core/settings/schedule.js",
    find: "row.next_at === expected ? nextTimeAfter(row, firing.due_at) : row.next_at",
    replace: "row.next_at === expected && firing.missed_from === null ? expected : nextTimeAfter(row, firing.due_at)",
  },
  {
    name: "a schedule does not catch up on missed times",
    file: "core/settings/schedule.js",
    find: 'if (row.catch_up !== "all")',
    replace: "if (row.catch_up !== undefined)",
  },
];
