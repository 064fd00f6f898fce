import type { ApiRoute } from "./api-route.ts";

/** The streams, and the routes about the API itself. */
export const streamRoutes: readonly ApiRoute[] = [
  {
    verb: "run.stream",
    method: "GET",
    path: "/v1/runs/{run_id}/stream",
    scope: "read",
    media: "text/event-stream",
    about:
      "Streams the events of a run as server-sent events. Resumes after `Last-Event-ID`, without a gap or a duplicate",
  },
  {
    verb: "stream",
    method: "GET",
    path: "/v1/stream",
    scope: "read",
    media: "text/event-stream",
    about: "Streams the events of several runs, and hints that rows of lists have changed",
  },
  {
    verb: "whoami",
    method: "GET",
    path: "/v1/whoami",
    scope: "read",
    about: "Shows the principal and the scopes of the credential",
  },
  { verb: "openapi", method: "GET", path: "/v1/openapi.json", scope: "read", about: "Returns this description" },
];
