import type { PlantedBug } from "./plant-bug.ts";

/** Bugs in setting, checking and lifting halts. */
export const haltBugs: readonly PlantedBug[] = [
  {
    name: "a halt is no condition of a start",
    file: "core/decide/start-step.js",
    find: "...(usesHalts ? command.halts.checks : [])",
    replace: "...[]",
  },
  {
    name: "an act is not halted",
    file: "core/decide/start-step.js",
    find: "if (command.halts.halt !== null && isHaltable(step))",
    replace: 'if (command.halts.halt !== null && isHaltable(step) && effect !== "acts")',
  },
  {
    name: "the cached halts never expire",
    file: "engine/rules/halt-cache.js",
    find: "since >= 0 && since < withinMs",
    replace: "since >= 0 && since < withinMs * withinMs",
  },
  {
    name: "a halted step waits for a child run that was never submitted",
    file: "engine/call/admit.js",
    find: "if (stepKinds[step.spec.kind].startsRun && proposal.signal === null)",
    replace: 'if (step.spec.kind === "none")',
  },
  {
    name: "an agent may set a halt",
    file: "core/approval/verb-rules.js",
    find: 'const services = { agent: "no", service: "tenant", person: "tenant" }',
    replace: 'const services = { agent: "tenant", service: "tenant", person: "tenant" }',
  },
];
