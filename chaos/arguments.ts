import { parseArgs } from "node:util";

export interface Arguments {
  readonly json: boolean;
  /** How long faults come; null: until there were enough of them. */
  readonly seconds: number | null;
  /** How many worker processes; null: as many as usual. */
  readonly workers: number | null;
  /** Where chance begins. */
  readonly seed: number;
  /** A folder for the history of the ledger and for what the world saw. */
  readonly keep: string | null;
}

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
    const { json, keep = null } = values;
    const [seconds, workers, seed] = [values.seconds, values.workers, values.seed].map(whole);
    if (seconds === undefined || workers === undefined || seed === undefined)
      return { wrong: "--seconds, --workers and --seed must be whole numbers from 1" };
    return { json, seconds, workers, seed: seed ?? anySeed, keep };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}

/** Null: nothing was said. Undefined: nothing that can be used. */
function whole(text: string | undefined): number | null | undefined {
  if (text === undefined) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
