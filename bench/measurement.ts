import type { TimeSplit } from "./time-split.ts";
import type { WorkCost } from "./work-cost.ts";

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
  /** True if each round measures new processes, which warm up themselves. */
  readonly startsProcesses?: true;
  /** True if a round also measures the limit with the events in a log. */
  readonly hasLogLimit?: true;
  /** Measures once, the engine and the limit one right after the other. `order` changes from round to round. */
  round(order: MeasurementOrder): Promise<MeasurementRound>;
  /** Measures the writes per step of engine and limit. */
  readonly traffic?: () => Promise<{ readonly engine: WriteTraffic; readonly limit: WriteTraffic }>;
  /** Measures how the engine spends its time. */
  readonly split?: () => Promise<TimeSplit>;
  /** Measures the work of the JavaScript runtime per step, or per call. */
  readonly work?: () => Promise<WorkCost>;
  /** True: the report also has the value of a new process. */
  readonly hasCold?: true;
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
  /** The limit and the ratio with the events in a log, as the store has them. The goals are set for the other limit. */
  readonly log?: { readonly limit: number; readonly ratio: number };
}

export interface WriteTraffic {
  readonly rows: number;
  readonly transactions: number;
  readonly syncs: number;
  /** The size of the closed file. */
  readonly bytes: number;
}

/** Measures engine and limit, in milliseconds and in the given order. */
export async function measurePair(
  order: MeasurementOrder,
  { engine, limit, logLimit }: MeasuredPair,
): Promise<MeasurementRound> {
  const engineFirst = order === "engine first" ? await engine() : null;
  const limitMs = await limit();
  const logMs = (await logLimit?.()) ?? null;
  const value = engineFirst ?? (await engine());
  const round = { value, limit: limitMs, ratio: value / limitMs };
  return logMs === null ? round : { ...round, log: { limit: logMs, ratio: value / logMs } };
}

/** Measures engine and limit as rates per second. */
export async function measureRates(
  order: MeasurementOrder,
  count: number,
  pair: MeasuredPair,
): Promise<MeasurementRound> {
  const { value, limit, ratio, log } = await measurePair(order, pair);
  const rate = (ms: number) => (1000 * count) / ms;
  return {
    value: rate(value),
    limit: rate(limit),
    ratio: 1 / ratio,
    ...(log && { log: { limit: rate(log.limit), ratio: 1 / log.ratio } }),
  };
}

interface MeasuredPair {
  readonly engine: () => Promise<number>;
  readonly limit: () => Promise<number>;
  readonly logLimit?: () => Promise<number>;
}
