import type { ApiRoute } from "./api-route.ts";

/** The routes by which people decide. */
export const decisionRoutes: readonly ApiRoute[] = [
  { verb: "gates", method: "GET", path: "/v1/gates", scope: "read", about: "Lists held calls, newest first" },
  {
    verb: "gate",
    method: "GET",
    path: "/v1/gates/{gate_id}",
    scope: "read",
    given: ["gate_id"],
    about: "Shows a held call",
  },
  {
    verb: "approve",
    method: "POST",
    path: "/v1/gates/{gate_id}/approve",
    scope: "decide",
    given: ["gate_id"],
    about: "Approves a held call, as it is or with an edited input",
  },
  {
    verb: "reject",
    method: "POST",
    path: "/v1/gates/{gate_id}/reject",
    scope: "decide",
    given: ["gate_id"],
    about: "Rejects a held call",
  },
  { verb: "inDoubt", method: "GET", path: "/v1/in-doubt", scope: "read", about: "Lists acts in doubt" },
  {
    verb: "resolve",
    method: "POST",
    path: "/v1/runs/{run_id}/steps/{step_id}/resolve",
    scope: "decide",
    given: ["run_id", "step_id"],
    about: "Settles an act in doubt, or has it verified",
  },
  { verb: "outcomes", method: "GET", path: "/v1/outcomes", scope: "read", about: "Lists outcomes" },
  {
    verb: "outcome",
    method: "GET",
    path: "/v1/outcomes/{outcome_id}",
    scope: "read",
    given: ["outcome_id"],
    about: "Shows an outcome with its output",
  },
  {
    verb: "act",
    method: "GET",
    path: "/v1/acts/{key}",
    scope: "read",
    given: ["key"],
    about: "Shows whether the act with a key happened, and its receipt",
  },
];
