import type { Planted } from "./plant.ts";

/** Budgets and rates. */
export const limiting: readonly Planted[] = [
  {
    name: "a limit is not looked at in the append",
    file: "core/judge.js",
    find: "if (limit !== null && used + amount > limit)",
    replace: "if (limit === -1)",
  },
  {
    name: "what is reserved has no limit",
    file: "core/limits/tally.js",
    find: 'limit: "limit" in charge ? charge.limit : null',
    replace: "limit: null",
  },
  {
    name: "a call is settled to another window",
    file: "core/decide/toll.js",
    find: "return { tally, amount: (bill.for",
    replace: 'return { tally: tally.replace(/T\\d\\d/, "T24"), amount: (bill.for',
  },
  {
    name: "what is in doubt gives back what was reserved",
    file: "core/decide/end.js",
    find: 'ending.how === "error" && act === null ? "all" : "unknown"',
    replace: '"all"',
  },
  {
    name: "what never happened keeps what was reserved",
    file: "core/decide/settle.js",
    find: 'if (as !== "not_done" && as !== "absent")',
    replace: "if (as)",
  },
  {
    name: "what happened after all gives back what was reserved",
    file: "core/decide/settle.js",
    find: 'if (as !== "not_done" && as !== "absent")',
    replace: 'if (as === "resend")',
  },
  {
    name: "a call that is sent again is charged again",
    file: "core/decide/start.js",
    find: "if (step.act?.doubt)\n        return [];",
    replace: "",
  },
  {
    name: "a late value is settled for what it said last",
    file: "core/evolve/step.js",
    find: "told + amountOf(unit, cost)",
    replace: "amountOf(unit, cost)",
  },
  {
    name: "a token of a rate is given back",
    file: "core/decide/toll.js",
    find: 'const settles = of === "budget" ? { unit } : {};',
    replace: 'const settles = { unit: of === "budget" ? unit : "ms" };',
  },
  {
    name: "a rate is not waited for",
    file: "core/decide/toll.js",
    find: 'toll.of === "rate" && isShort(toll)',
    replace: 'toll.of === "fate"',
    also: {
      file: "core/limits/tally.js",
      find: 'limit: "limit" in charge ? charge.limit : null',
      replace: 'limit: "unit" in charge ? charge.limit : null',
    },
  },
];
