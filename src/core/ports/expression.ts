import type { Json } from "../values/json.ts";

/** The language of conditions. An expression can access only the data that is passed to it. */
export interface ExpressionLanguage {
  /** Loads the language, if that was not done before. It is awaited before the first `read`. */
  load(): Promise<void>;
  /**
   * Parses a condition that may name these variables and no others, or returns the reason why it is invalid. `fields`
   * lists the fields of variables that have no others.
   */
  read(source: string, variables: readonly string[], fields?: VariableFields): Expression | { readonly wrong: string };
}

/** The fields of some variables, by the name of the variable. */
export type VariableFields = Readonly<Record<string, readonly string[]>>;

/** A parsed condition. */
export interface Expression {
  readonly source: string;
  /** Never throws, and ends when its fuel is spent. Callers treat `wrong` as false. */
  test(data: Readonly<Record<string, Json>>): ExpressionResult;
}

/** `spent` is the fuel that was used; it is the same for the same expression and data on any machine. */
export type ExpressionResult = { readonly spent: number } & ({ readonly holds: boolean } | { readonly wrong: string });

/** The limits on an expression. */
export const expressionLimits = {
  length: 4096,
  nodes: 500,
  depth: 32,
  list: 200,
  arguments: 4,
  /** Instructions that a pattern compiles to. */
  pattern: 500,
  /**
   * Steps. Reading an entry costs one, reading 64 characters of a text costs one, and matching a pattern costs more.
   */
  fuel: 10_000,
} as const;
