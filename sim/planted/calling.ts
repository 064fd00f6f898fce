import type { Planted } from "./plant.ts";

/** Wrongs in what comes by signals and standing orders. */
export const calling: readonly Planted[] = [
  {
    name: "a signal that was taken stays in its box",
    file: "core/decide/wait.js",
    find: "taken: box.taken + 1",
    replace: "taken: box.taken",
  },
  {
    name: "a signal that is sent again is another one",
    file: "core/rows-of.js",
    find: "if (request === null)\n        return puts;",
    replace: "if (request !== undefined)\n        return puts;",
  },
  {
    name: "a signal goes into its box though someone waits for it",
    file: "engine/post/signals.js",
    find: "for (const [index, { run_id, step_id }] of box.waiters.entries())",
    replace: "for (const [index, { run_id, step_id }] of box.waiters.slice(0, -1).entries())",
  },
  {
    name: "a standing order is for one time again and again",
    file: "core/time/schedule.js",
    find: "row.next_at === begun ? following(row, firing.due_at) : row.next_at",
    replace: "row.next_at === begun && firing.missed_from === null ? begun : following(row, firing.due_at)",
  },
  {
    name: "a standing order does not make up for what was missed",
    file: "core/time/schedule.js",
    find: 'if (row.catch_up !== "all")',
    replace: "if (row.catch_up !== undefined)",
  },
];
