import type { Found, search } from "../search.ts";
import { type Planted, plant } from "./plant.ts";

/** What a hunter is sent after. */
export interface Quarry {
  readonly bug: Planted;
  readonly from: number;
  readonly steps: number;
}

export type Catch = Pick<Found, "seeds" | "steps"> & {
  readonly first: { readonly seed: number; readonly law: string } | null;
};

/** Stacks are for reading, and nobody reads those of a hunt. */
Error.stackTraceLimit = 0;

/** A process that hunts one planted wrong after the other; what they have in common it loads once. */
process.on("message", (quarry: Quarry) => {
  void hunt(quarry).then((caught) => process.send?.(caught));
});

async function hunt({ bug, from, steps }: Quarry): Promise<Catch> {
  const planted = plant(bug);
  const wrong = (await import(planted.search)) as { readonly search: typeof search };
  const { seeds, steps: taken, violations } = await wrong.search({ from, steps, first: true });
  planted.remove();
  const [first] = violations;
  return {
    seeds,
    steps: taken,
    first: first?.violation == null ? null : { seed: first.seed, law: first.violation.law },
  };
}
