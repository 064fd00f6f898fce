import { parseArgs } from "node:util";

export interface Arguments {
  readonly json: boolean;
  readonly only: string | null;
  readonly rounds: number;
}

/** Fewer rounds than this and one disturbed round could be the median. */
const roundsDefault = 7;

/** Reads the command line, or says what is wrong with it. */
export function readArguments(args: readonly string[], ids: readonly string[]): Arguments | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { json: { type: "boolean" }, only: { type: "string" }, rounds: { type: "string" } },
    });
    const rounds = values.rounds === undefined ? roundsDefault : Number(values.rounds);
    if (!Number.isInteger(rounds) || rounds < 1) return { wrong: `--rounds ${values.rounds} is not a whole number` };
    const only = values.only ?? null;
    if (only !== null && !ids.includes(only))
      return { wrong: `no result is called ${only}; there are ${ids.join(", ")}` };
    return { json: values.json ?? false, only, rounds };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}
