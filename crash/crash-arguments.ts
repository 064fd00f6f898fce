import { parseArgs } from "node:util";
import { type PartSelector, parsePartSelector, partNames } from "./part-selector.ts";

export interface CrashArguments {
  readonly json: boolean;
  /** The number of random kills. */
  readonly kills: number;
  /** The seed of the random kills. */
  readonly seed: number;
  /** Null: all parts. */
  readonly only: PartSelector | null;
}

const DEFAULT_KILLS = 2000;

/** Parses the command line, or returns what is wrong with it. */
export function parseCrashArguments(
  args: readonly string[],
  anySeed: number,
): CrashArguments | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        json: { type: "boolean", default: false },
        kills: { type: "string" },
        seed: { type: "string" },
        only: { type: "string" },
      },
    });
    const kills = parseWholeNumber(values.kills, DEFAULT_KILLS);
    const seed = parseWholeNumber(values.seed, anySeed);
    if (kills === null || seed === null) return { wrong: "--kills and --seed must be whole numbers" };
    const only = values.only === undefined ? null : parsePartSelector(values.only);
    if (values.only !== undefined && only === null) return { wrong: selectorHelp };
    return { json: values.json, kills, seed, only };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}

const selectorHelp = `--only must be one of ${partNames.join(", ")}, or one cell, such as kill:opaque@tool.after#1`;

function parseWholeNumber(text: string | undefined, otherwise: number): number | null {
  const value = text === undefined ? otherwise : Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? value : null;
}
