/** The limits of a schema, which may be untrusted: compiling and applying it must be cheap. */
export const schemaLimits = {
  bytes: 1024 * 1024,
  depth: 64,
  nodes: 20_000,
  schemas: 2000,
  patternLength: 1000,
  patternSteps: 40_000,
  steps: 10_000,
  stepsEach: 10,
} as const;
