/** The paths of pages for people: messages and commands link to them. */
export const pagePaths = {
  run: (run_id: string): string => `/runs/${encodeURIComponent(run_id)}`,
  gate: (gate_id: string): string => `/gates/${encodeURIComponent(gate_id)}`,
  step: (run_id: string, step_id: string): string =>
    `/runs/${encodeURIComponent(run_id)}?step=${encodeURIComponent(step_id)}`,
} as const;

/** The path of every page of the console. A part that begins with a colon is an argument. */
export const consolePaths = [
  "/",
  "/gates/:id",
  "/runs",
  "/runs/:id",
  "/sessions/:id",
  "/new",
  "/projects",
  "/projects/:id",
  "/tools",
  "/policies",
  "/usage",
  "/schedules",
  "/workers",
  "/audit",
] as const;

/** The paths of the pages of the demo. Only a server that the demo started answers them. */
export const demoPaths = ["/demo", "/demo/mailbox"] as const;
