import { adminRoutes } from "./admin-routes.ts";
import type { ApiRoute } from "./api-route.ts";
import { decisionRoutes } from "./decision-routes.ts";
import { runRoutes } from "./run-routes.ts";
import { sessionRoutes } from "./session-routes.ts";
import { stateRoutes } from "./state-routes.ts";
import { streamRoutes } from "./stream-routes.ts";

/** Every route of the HTTP API that needs a credential. */
export const apiRoutes: readonly ApiRoute[] = [
  ...runRoutes,
  ...decisionRoutes,
  ...stateRoutes,
  ...adminRoutes,
  ...sessionRoutes,
  ...streamRoutes,
];
