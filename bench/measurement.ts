import type { TimeSplit } from "./time-split.ts";

/** One figure and how it is come by. */
export interface Measurement {
  readonly id: string;
  /** What is measured. */
  readonly about: string;
  /** What its limit is: the least that the same work could take. */
  readonly beside: string;
  readonly unit: string;
  /** What the project wants of it; null where it only wants to know. */
  readonly goal: Goal | null;
  /** How many rounds are enough for a figure that hardly varies or takes long. One: it needs no warm-up either. */
  readonly enough?: number;
  /** Measures once, the engine and the limit one right after the other. `order` changes from round to round. */
  round(order: Order): Promise<Round>;
  /** What was written per step, beside the limit's. */
  readonly traffic?: () => Promise<{ readonly engine: Traffic; readonly limit: Traffic }>;
  /** Where the engine's time goes. */
  readonly split?: () => Promise<TimeSplit>;
}

export type Goal = { readonly of: "ratio" | "value" } & ({ readonly atLeast: number } | { readonly atMost: number });

export type Order = "limit first" | "engine first";

export interface Round {
  readonly value: number;
  readonly limit: number;
  readonly ratio: number;
}

export interface Traffic {
  readonly rows: number;
  readonly transactions: number;
  readonly syncs: number;
  /** In the file when it is closed. */
  readonly bytes: number;
}

/** Two times in milliseconds, taken in the order asked for. */
export async function sideBySide(order: Order, { engine, limit }: Pair): Promise<Round> {
  const early = order === "engine first" ? await engine() : null;
  const least = await limit();
  const value = early ?? (await engine());
  return { value, limit: least, ratio: value / least };
}

/** What takes these times, and how often that is in a second. */
export async function rateSideBySide(order: Order, count: number, pair: Pair): Promise<Round> {
  const took = await sideBySide(order, pair);
  return { value: (1000 * count) / took.value, limit: (1000 * count) / took.limit, ratio: 1 / took.ratio };
}

interface Pair {
  readonly engine: () => Promise<number>;
  readonly limit: () => Promise<number>;
}
