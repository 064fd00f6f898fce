import { parseArgs } from "node:util";

export interface SimArguments {
  readonly json: boolean;
  /** Simulate processes on one SQLite file, and not the engine on a store in memory. */
  readonly file: boolean;
  /** Simulate sessions of agents and the hosts that do calls themselves. */
  readonly sessions: boolean;
  /** Simulate random plans, and compare each with a serial model. */
  readonly plans: boolean;
  /** The minimum number of steps, over as many seeds as needed; null: one seed, to its end. */
  readonly steps: number | null;
  /** Stop at the first violation. */
  readonly first: boolean;
  /** The first seed; null: a random seed. */
  readonly seed: number | null;
  /** With one seed: trace lines that contain this text are printed immediately. */
  readonly about: string | null;
  /**
   * "all": search for every planted bug. "known": begin with the seeds that found each bug before. Else: the bugs
   * whose names contain this text.
   */
  readonly planted: string;
  /** 1: search for every selected bug; n: for every nth. */
  readonly every: number;
}

const DEFAULT_STEPS = 1_000_000;

/** Parses the command line, or returns what is wrong with it. */
export function parseSimArguments(args: readonly string[]): SimArguments | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        json: { type: "boolean", default: false },
        file: { type: "boolean", default: false },
        sessions: { type: "boolean", default: false },
        plans: { type: "boolean", default: false },
        first: { type: "boolean", default: false },
        steps: { type: "string" },
        seed: { type: "string" },
        about: { type: "string" },
        planted: { type: "string", default: "all" },
        every: { type: "string", default: "1" },
      },
    });
    const { json, file, sessions, plans, first, about = null, planted } = values;
    const numbers = {
      steps: parseWholeNumber(values.steps),
      seed: parseWholeNumber(values.seed),
      every: parseWholeNumber(values.every),
    };
    for (const [name, value] of Object.entries(numbers))
      if (Number.isNaN(value)) return { wrong: `--${name} must be a whole number` };
    const { seed, steps, every } = numbers;
    if (!every) return { wrong: "--every must be at least 1" };
    return {
      json,
      file,
      sessions,
      plans,
      first,
      about,
      planted,
      every,
      seed,
      steps: steps ?? (seed === null ? DEFAULT_STEPS : null),
    };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}

function parseWholeNumber(text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? value : Number.NaN;
}
