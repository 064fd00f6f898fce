import type { Planted } from "./plant.ts";

/** Wrongs in what a halt keeps from beginning, and in letting it go on. */
export const halting: readonly Planted[] = [
  {
    name: "a halt is no condition of a start",
    file: "core/decide/start.js",
    find: "...(standsOnHalts ? command.halts.checks : [])",
    replace: "...[]",
  },
  {
    name: "what acts is not halted",
    file: "core/decide/start.js",
    find: "if (command.halts.halt !== null && isHaltable(step))",
    replace: 'if (command.halts.halt !== null && isHaltable(step) && effect !== "acts")',
  },
  {
    name: "what is known of halts does not grow old",
    file: "engine/rules/halt-board.js",
    find: "since >= 0 && since < withinMs",
    replace: "since >= 0 && since < withinMs * withinMs",
  },
  {
    name: "a step that was halted waits for a run that nobody asked for",
    file: "engine/road/admit.js",
    find: 'if (step.spec.kind === "run" && proposal.signal === null)',
    replace: 'if (step.spec.kind === "none")',
  },
  {
    name: "an agent halts what it likes",
    file: "engine/rules/halt-office.js",
    find: 'if (who.kind === "agent")',
    replace: 'if (who.kind === "nobody")',
  },
];
