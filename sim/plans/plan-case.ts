import type { Rng } from "../rng.ts";

/** A step of a random plan, and how its calls end. */
export interface CaseStep {
  readonly id: string;
  readonly kind: "act" | "write" | "read";
  readonly needs: readonly string[];
  /** The entry of the state that a write sets. */
  readonly key: string;
  /** How often the call fails before it succeeds. Infinity: always. */
  readonly failures: number;
  readonly onFailure: "abort" | "skip";
  /** How the compensation of an act ends. Null: its tool has none. */
  readonly undo: "works" | "fails" | null;
}

/** One simulated plan, with the faults that it meets. */
export interface PlanCase {
  readonly steps: readonly CaseStep[];
  readonly isAtomic: boolean;
  /** The simulated step at which the run is cancelled, or null. */
  readonly cancelAt: number | null;
  /** The probability of a killed process per simulated step, while faults last. */
  readonly killed: number;
}

const KEYS = ["a", "b", "c", "d"] as const;
const STEPS_MAX = 10;

/** Draws a plan whose steps need random earlier ones. */
export function drawPlanCase(rng: Rng): PlanCase {
  const count = rng.between(1, STEPS_MAX);
  const density = rng.pick([0, 0.2, 0.5]);
  const failing = rng.pick([0, 0.1, 0.3]);
  const steps: CaseStep[] = [];
  for (let index = 0; index < count; index += 1) {
    const needs = steps.filter(() => rng.chance(density)).map(({ id }) => id);
    steps.push({
      id: `s${index}`,
      kind: rng.pick(["act", "act", "write", "write", "read"] as const),
      needs,
      key: rng.pick(KEYS),
      failures: rng.chance(failing) ? rng.pick([1, Number.POSITIVE_INFINITY]) : 0,
      onFailure: rng.chance(0.7) ? "abort" : "skip",
      undo: rng.pick(["works", "works", "works", "fails", null] as const),
    });
  }
  return {
    steps,
    isAtomic: rng.chance(0.75),
    cancelAt: rng.chance(0.2) ? rng.between(5, 200) : null,
    killed: rng.pick([0, 0.005, 0.02]),
  };
}
