import assert from "node:assert/strict";

/**
 * Settings of a model test. The seed is fixed, so two test runs use the same scenarios; a failure prints it with the path
 * to its shortest scenario. `WRIT_MODEL_RUNS` multiplies the scenarios; `WRIT_MODEL_SEED` selects others.
 */
export function modelRuns(stories: number): { readonly numRuns: number; readonly seed: number } {
  const { WRIT_MODEL_RUNS: times = "1", WRIT_MODEL_SEED: seed = "1" } = process.env;
  return { numRuns: Math.ceil(stories * Number(times)), seed: Number(seed) };
}

/** Long enough for any value of `WRIT_MODEL_RUNS`. */
export const modelTimeout = { timeout: 60 * 60_000 } as const;

/** Throws an error with the scenario if the code and the model differ. */
export function assertModelAgrees(story: readonly unknown[], told: unknown, expected: unknown): void {
  try {
    assert.deepEqual(told, expected);
  } catch (difference) {
    const lines = story.map((move) => JSON.stringify(move));
    throw new Error([...lines, (difference as Error).message].join("\n"));
  }
}
