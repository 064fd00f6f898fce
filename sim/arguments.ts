import { parseArgs } from "node:util";

export interface Arguments {
  readonly json: boolean;
  /** About how many steps to play, over as many seeds as that takes. */
  readonly steps: number;
  readonly seeds: number;
  /** Stop at the first violation. */
  readonly first: boolean;
  /** One seed to play again; null: many, from `from` on. */
  readonly seed: number | null;
  /** The seed to begin with; null: one that nobody has chosen. */
  readonly from: number | null;
  /** With one seed: the run whose every line is shown. */
  readonly run: string | null;
  readonly planted: "all" | "none" | readonly string[];
}

const stepsDefault = 1_000_000;

/** Reads the command line, or says what is wrong with it. */
export function readArguments(args: readonly string[]): Arguments | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        json: { type: "boolean", default: false },
        steps: { type: "string" },
        seeds: { type: "string" },
        first: { type: "boolean", default: false },
        seed: { type: "string" },
        from: { type: "string" },
        run: { type: "string" },
        planted: { type: "string" },
      },
    });
    const { steps, seeds, seed, from } = values;
    const numbers = { steps: whole(steps), seeds: whole(seeds), seed: whole(seed), from: whole(from) };
    for (const [name, value] of Object.entries(numbers))
      if (Number.isNaN(value)) return { wrong: `--${name} must be a whole number` };
    const { json, first, run = null, planted = numbers.seed === null ? "all" : "none" } = values;
    return {
      ...numbers,
      json,
      first,
      run,
      steps: numbers.steps ?? (numbers.seeds === null ? stepsDefault : Number.POSITIVE_INFINITY),
      seeds: numbers.seeds ?? Number.POSITIVE_INFINITY,
      planted: planted === "all" || planted === "none" ? planted : planted.split(","),
    };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}

function whole(text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? value : Number.NaN;
}
