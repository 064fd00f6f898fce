/** A schema may come from a stranger: reading it and applying it must cost little. Two thousand values take some fifty milliseconds to read. */
export const schemaLimits = {
  bytes: 256 * 1024,
  depth: 64,
  nodes: 2000,
  patternLength: 1000,
  patternSteps: 40_000,
  references: 2500,
  referencesEach: 20,
} as const;
