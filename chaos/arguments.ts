import { parseArgs } from "node:util";

export interface Arguments {
  readonly json: boolean;
  /** How long faults come. */
  readonly seconds: number;
  /** How many worker processes. */
  readonly workers: number;
  /** Where chance begins. */
  readonly seed: number;
  /** A folder for the history of the ledger and for what the world saw. */
  readonly keep: string | null;
}

/** Long enough for a thousand kills and a hundred falls of the server. */
const secondsDefault = 1_150;

/** Reads the command line, or says what is wrong with it. */
export function readArguments(args: readonly string[], anySeed: number): Arguments | { readonly wrong: string } {
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
    const seconds = whole(values.seconds, secondsDefault);
    const workers = whole(values.workers, 5);
    const seed = whole(values.seed, anySeed);
    if (seconds === null || workers === null || seed === null || seconds * workers === 0)
      return { wrong: "--seconds, --workers and --seed must be whole numbers, the first two from 1" };
    return { json: values.json, seconds, workers, seed, keep: values.keep ?? null };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}

function whole(text: string | undefined, otherwise: number): number | null {
  const value = text === undefined ? otherwise : Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? value : null;
}
