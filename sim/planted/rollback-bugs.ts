import type { PlantedBug } from "./plant-bug.ts";

/** Bugs in the rollback of atomic plans. */
export const rollbackBugs: readonly PlantedBug[] = [
  {
    name: "a rollback leaves a single version of the state",
    file: "core/run/rollback-progress.js",
    find: "return versions.size > 0 || captures.length > 0;",
    replace: "return versions.size > 1 || captures.length > 0;",
    simulation: "plans",
  },
  {
    name: "a cancelled atomic plan is not rolled back",
    file: "core/decide/rollback-events.js",
    find: "return cancel === null ? null :",
    replace: "return cancel !== undefined ? null :",
    simulation: "plans",
  },
  {
    name: "an entry goes back to its value before the last write of the plan",
    file: "core/state/revert-own-changes.js",
    find: "else if (!this.#entries.has(key))",
    replace: "else",
    simulation: "plans",
  },
  {
    name: "a rollback leaves an act whose call was in doubt",
    file: "core/run/rollback-progress.js",
    find: 'standing.state !== "compensation_failed"',
    replace: 'standing.state !== "compensation_failed" && act.version < 3',
    simulation: "plans",
  },
];
