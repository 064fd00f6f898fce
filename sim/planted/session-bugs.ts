import type { PlantedBug } from "./plant-bug.ts";

const openRun = "core/decide/decide-open-run.js";
const endAttempt = "core/decide/end-attempt.js";

/** Bugs of sessions, of work that hosts do themselves, and of the runs of a long session. */
export const sessionBugs: readonly PlantedBug[] = [
  {
    name: "the work of a host is in doubt when a worker dies",
    simulation: "sessions",
    file: "core/decide/recover-run.js",
    find: 'if (isHostAtWork(step) && mark !== "no")',
    replace: "if (false)",
  },
  {
    name: "any token ends a call",
    simulation: "sessions",
    file: "engine/session/end-host-call.js",
    find: "if (step?.external?.token !== digest || step.external.attempt !== attempt)",
    replace: "if (step?.external == null)",
  },
  {
    name: "the token of a call is stored",
    simulation: "sessions",
    file: "engine/call/host-work.js",
    find: 'return digestOfParts("writ/call-token/v1", secret);',
    replace: "return secret;",
  },
  {
    name: "the late report of a host changes nothing",
    simulation: "sessions",
    file: endAttempt,
    find: 'if (act !== null && ending.how === "value")',
    replace: "if (act !== null && step.external !== null)\n        return NO_CHANGE;\n    if (false)",
  },
  {
    name: "the engine tries the work of a host again",
    simulation: "sessions",
    file: endAttempt,
    find: "return external?.attempt === attempt && !isFreeRetry(why);",
    replace: "return false;",
  },
  {
    name: "the work of a host never ends by time",
    simulation: "sessions",
    file: "core/run/run-wakeups.js",
    find: "return standing.until ?? null;",
    replace: "return null;",
  },
  {
    name: "a close leaves a host at work that does not act",
    simulation: "sessions",
    file: "core/decide/cancel-host-work.js",
    find: "if (isHostAtWork(step) && step.act === null)",
    replace: "if (false)",
  },
  {
    name: "a full run is closed though a call of it waits",
    simulation: "sessions",
    file: openRun,
    find: "return moving + retrying + waiting > 0 || hasUnfinishedTurn(run);",
    replace: "return false;",
  },
  {
    name: "a closed run leaves no rows for the names of its calls",
    simulation: "sessions",
    file: "core/evolve/event-rows.js",
    find: "if (run.opened === null)\n        return [];",
    replace: "return [];",
  },
  {
    name: "a call under the id of another call gets its answer",
    simulation: "sessions",
    file: "core/run/find-call-step.js",
    find: "return spec.name === tool && sameJson(spec.payload, input);",
    replace: "return true;",
  },
  {
    name: "the row of a session is no condition",
    simulation: "sessions",
    file: "core/evolve/event-rows.js",
    find: "sessionKey(event.principal.id, event), previousVersion(segment), row)",
    replace: 'sessionKey(event.principal.id, event), "any", row)',
  },
];
