import { parseArgs } from "node:util";

export interface Arguments {
  readonly json: boolean;
  /** So many steps at least, over as many seeds as that takes; null: one seed, to its end. */
  readonly steps: number | null;
  /** Stop at the first violation. */
  readonly first: boolean;
  /** The first seed; null: one that nobody has chosen. */
  readonly seed: number | null;
  /** With one seed: lines that contain this are told as they happen. */
  readonly about: string | null;
  /** all: hunted by search; known: beginning with the seeds that found them before; else those with these words in them. */
  readonly planted: string;
}

const stepsDefault = 1_000_000;

/** Reads the command line, or says what is wrong with it. */
export function readArguments(args: readonly string[]): Arguments | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        json: { type: "boolean", default: false },
        first: { type: "boolean", default: false },
        steps: { type: "string" },
        seed: { type: "string" },
        about: { type: "string" },
        planted: { type: "string", default: "all" },
      },
    });
    const { json, first, about = null, planted } = values;
    const numbers = {
      steps: whole(values.steps),
      seed: whole(values.seed),
    };
    for (const [name, value] of Object.entries(numbers))
      if (Number.isNaN(value)) return { wrong: `--${name} must be a whole number` };
    const { seed, steps } = numbers;
    return {
      json,
      first,
      about,
      planted,
      seed,
      steps: steps ?? (seed === null ? stepsDefault : null),
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
