import type { TimeSplit } from "./time-split.ts";

/** A measured value and its limit. */
export interface Measurement {
  readonly id: string;
  /** The measured work. */
  readonly about: string;
  /** The limit: the least that the same work can take. */
  readonly limitAbout: string;
  readonly unit: string;
  /** The goal of the project; null: none. */
  readonly goal: MeasurementGoal | null;
  /** The number of rounds for a slow or stable value. One: no warm-up either. */
  readonly maxRounds?: number;
  /** Measures once, the engine and the limit one right after the other. `order` changes from round to round. */
  round(order: MeasurementOrder): Promise<MeasurementRound>;
  /** Measures the writes per step of engine and limit. */
  readonly traffic?: () => Promise<{ readonly engine: WriteTraffic; readonly limit: WriteTraffic }>;
  /** Measures how the engine spends its time. */
  readonly split?: () => Promise<TimeSplit>;
}

export type MeasurementGoal = { readonly of: "ratio" | "value" } & (
  | { readonly atLeast: number }
  | { readonly atMost: number }
);

export type MeasurementOrder = "limit first" | "engine first";

export interface MeasurementRound {
  readonly value: number;
  readonly limit: number;
  readonly ratio: number;
}

export interface WriteTraffic {
  readonly rows: number;
  readonly transactions: number;
  readonly syncs: number;
  /** The size of the closed file. */
  readonly bytes: number;
}

/** Measures engine and limit, in milliseconds and in the given order. */
export async function measurePair(order: MeasurementOrder, { engine, limit }: MeasuredPair): Promise<MeasurementRound> {
  const engineFirst = order === "engine first" ? await engine() : null;
  const limitMs = await limit();
  const value = engineFirst ?? (await engine());
  return { value, limit: limitMs, ratio: value / limitMs };
}

/** Measures engine and limit as rates per second. */
export async function measureRates(
  order: MeasurementOrder,
  count: number,
  pair: MeasuredPair,
): Promise<MeasurementRound> {
  const took = await measurePair(order, pair);
  return { value: (1000 * count) / took.value, limit: (1000 * count) / took.limit, ratio: 1 / took.ratio };
}

interface MeasuredPair {
  readonly engine: () => Promise<number>;
  readonly limit: () => Promise<number>;
}
