import type { PlantedBug } from "./plant-bug.ts";

/** Bugs in budgets and rates. */
export const limitBugs: readonly PlantedBug[] = [
  {
    name: "a limit is not checked in the append",
    file: "core/store/check-entry.js",
    find: "if (limit !== null && used + amount > limit)",
    replace: "if (limit === -1)",
  },
  {
    name: "a reservation has no limit",
    file: "core/call/cost-charges.js",
    find: 'limit: "limit" in charge ? charge.limit : null',
    replace: "limit: null",
  },
  {
    name: "a call is settled to another window",
    file: "core/decide/limit-charges.js",
    find: "return { tally, amount: (attempt.for",
    replace: 'return { tally: tally.replace(/T\\d\\d/, "T24"), amount: (attempt.for',
  },
  {
    name: "an act in doubt returns its reservation",
    file: "core/decide/end-attempt.js",
    find: 'ending.how === "error" && act === null ? "all" : "unknown"',
    replace: '"all"',
  },
  {
    name: "an act that did not happen keeps its reservation",
    file: "core/decide/settle-doubt.js",
    find: 'if (as !== "not_done" && as !== "absent")',
    replace: "if (as)",
  },
  {
    name: "an act that happened returns its reservation",
    file: "core/decide/settle-doubt.js",
    find: 'if (as !== "not_done" && as !== "absent")',
    replace: 'if (as === "resend")',
  },
  {
    name: "a resent call is charged again",
    file: "core/decide/start-step.js",
    find: "if (step.act?.doubt)\n        return [];",
    replace: "",
  },
  {
    name: "a late value is settled with its last cost only",
    file: "core/evolve/step-reservations.js",
    find: "reported + costAmount(unit, cost)",
    replace: "costAmount(unit, cost)",
  },
  {
    name: "a rate token is returned",
    file: "core/decide/limit-charges.js",
    find: 'const settles = of === "budget" ? { unit } : {};',
    replace: 'const settles = { unit: of === "budget" ? unit : "ms" };',
  },
  {
    name: "a call does not wait for its rate",
    file: "core/decide/limit-charges.js",
    find: 'limit.of === "rate" && isExceeded(limit)',
    replace: 'limit.of === "fate"',
    also: {
      file: "core/call/cost-charges.js",
      find: 'limit: "limit" in charge ? charge.limit : null',
      replace: 'limit: "unit" in charge ? charge.limit : null',
    },
  },
];
