import type { Json } from "./json/json.ts";

/** The language in which conditions are written. Nothing said in it reaches beyond the data it is asked about. */
export interface Language {
  /** Reads a condition that may name these variables and no others, or says what is wrong with it. */
  read(source: string, variables: readonly string[]): Expression | { readonly wrong: string };
}

/** A condition, read once and asked often. */
export interface Expression {
  readonly source: string;
  /** Never throws, and ends when its fuel is spent. Whoever asks takes `wrong` for a no. */
  test(data: Readonly<Record<string, Json>>): Answer;
}

/** `spent`: the fuel it took, which is the same for the same question on any machine. */
export type Answer = { readonly spent: number } & ({ readonly holds: boolean } | { readonly wrong: string });

/** Every limit on an expression has a name. */
export const expressionLimits = {
  length: 4096,
  nodes: 500,
  depth: 32,
  list: 200,
  arguments: 4,
  /** Instructions of all that a pattern becomes. */
  pattern: 500,
  /** Steps. Looking at an entry takes one, looking at 64 characters of a text takes one, and more where a pattern is matched. */
  fuel: 10_000,
} as const;
