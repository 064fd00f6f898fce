import { parseArgs } from "node:util";

export interface ChaosArguments {
  readonly json: boolean;
  /** The duration of the faults; null: until enough faults have happened. */
  readonly seconds: number | null;
  /** The number of worker processes; null: the default. */
  readonly workers: number | null;
  /** The seed of the random choices. */
  readonly seed: number;
  /** The folder in which the history and the effect log are kept; null: none. */
  readonly keep: string | null;
}

/** Parses the command line, or returns what is wrong with it. */
export function parseChaosArguments(
  args: readonly string[],
  anySeed: number,
): ChaosArguments | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        json: { type: "boolean", default: false },
        seconds: { type: "string" },
        workers: { type: "string" },
        seed: { type: "string" },
        keep: { type: "string" },
      },
    });
    const { json, keep = null } = values;
    const [seconds, workers, seed] = [values.seconds, values.workers, values.seed].map(parseWholeNumber);
    if (seconds === undefined || workers === undefined || seed === undefined)
      return { wrong: "--seconds, --workers and --seed must be whole numbers from 1" };
    return { json, seconds, workers, seed: seed ?? anySeed, keep };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}

/** Returns null if there is no text, and undefined if it is not a whole number from 1. */
function parseWholeNumber(text: string | undefined): number | null | undefined {
  if (text === undefined) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
