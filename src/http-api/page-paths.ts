/** The paths of pages for people: messages and commands link to them. */
export const pagePaths = {
  run: (run_id: string): string => `/runs/${encodeURIComponent(run_id)}`,
  gate: (gate_id: string): string => `/gates/${encodeURIComponent(gate_id)}`,
  step: (run_id: string, step_id: string): string =>
    `/runs/${encodeURIComponent(run_id)}?step=${encodeURIComponent(step_id)}`,
} as const;
