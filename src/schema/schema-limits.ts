/** A schema may come from a stranger: reading it and applying it must cost little. */
export const schemaLimits = {
  bytes: 256 * 1024,
  depth: 64,
  nodes: 2000,
  patternLength: 1000,
  patternSteps: 40_000,
  steps: 10_000,
  stepsEach: 10,
} as const;
