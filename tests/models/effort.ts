import assert from "node:assert/strict";

/**
 * How hard a model is tried. The seed is fixed, so that two runs of the tests try the same stories; a failure prints it
 * with the path to its shortest story. `WRIT_MODEL_RUNS` multiplies the stories, `WRIT_MODEL_SEED` tells others.
 */
export function effort(stories: number): { readonly numRuns: number; readonly seed: number } {
  const { WRIT_MODEL_RUNS: times = "1", WRIT_MODEL_SEED: seed = "1" } = process.env;
  return { numRuns: Math.ceil(stories * Number(times)), seed: Number(seed) };
}

/** A long run is waited for. */
export const patience = { timeout: 60 * 60_000 } as const;

/** What the law says is what the model says; if not, here is how it came to that. */
export function agree(story: readonly unknown[], told: unknown, expected: unknown): void {
  try {
    assert.deepEqual(told, expected);
  } catch (difference) {
    const lines = story.map((move) => JSON.stringify(move));
    throw new Error([...lines, (difference as Error).message].join("\n"));
  }
}
