import { parseArgs } from "node:util";

export interface ChaosArguments {
  readonly json: boolean;
  readonly store: "postgres" | "sqlite";
  /** True: search for planted bugs instead. */
  readonly bugs: boolean;
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
        bugs: { type: "boolean", default: false },
        store: { type: "string", default: "postgres" },
        seconds: { type: "string" },
        minutes: { type: "string" },
        workers: { type: "string" },
        seed: { type: "string" },
        keep: { type: "string" },
      },
    });
    const { json, store, bugs, keep = null } = values;
    if (store !== "postgres" && store !== "sqlite") return { wrong: `--store ${store} is neither postgres nor sqlite` };
    if (bugs && store !== "sqlite") return { wrong: "--bugs goes with --store sqlite" };
    const numbers = [values.seconds, values.minutes, values.workers, values.seed].map(parseWholeNumber);
    const [seconds, minutes, workers, seed] = numbers;
    if (seconds === undefined || minutes === undefined || workers === undefined || seed === undefined)
      return { wrong: "--seconds, --minutes, --workers and --seed must be whole numbers from 1" };
    if (seconds !== null && minutes !== null) return { wrong: "--seconds does not go with --minutes" };
    const duration = minutes === null ? seconds : minutes * 60;
    return { json, store, bugs, seconds: duration, workers, seed: seed ?? anySeed, keep };
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
