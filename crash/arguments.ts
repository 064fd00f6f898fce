import { parseArgs } from "node:util";
import { partNames, readWanted, type Wanted } from "./wanted.ts";

export interface Arguments {
  readonly json: boolean;
  /** How many kills at moments that nobody has chosen. */
  readonly kills: number;
  /** Where chance begins. */
  readonly seed: number;
  /** Null: all of it. */
  readonly only: Wanted | null;
}

const killsDefault = 2000;

/** Reads the command line, or says what is wrong with it. */
export function readArguments(args: readonly string[], anySeed: number): Arguments | { readonly wrong: string } {
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
    const kills = whole(values.kills, killsDefault);
    const seed = whole(values.seed, anySeed);
    if (kills === null || seed === null) return { wrong: "--kills and --seed must be whole numbers" };
    const only = values.only === undefined ? null : readWanted(values.only);
    if (values.only !== undefined && only === null) return { wrong: wrongPart };
    return { json: values.json, kills, seed, only };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}

const wrongPart = `--only must be one of ${partNames.join(", ")}, or one cell, such as kill:opaque@tool.after#1`;

function whole(text: string | undefined, otherwise: number): number | null {
  const value = text === undefined ? otherwise : Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? value : null;
}
