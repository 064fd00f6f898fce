/** One figure and how it is come by. */
export interface Measurement {
  readonly id: string;
  readonly unit: string;
  /** What the project wants of its ratio. */
  readonly goal: Goal;
  /** Measures once, the engine and the limit one right after the other. `order` changes from round to round. */
  round(order: Order): Promise<Round>;
  /** What lies behind the figure. */
  readonly detail: (() => Promise<Detail>) | null;
}

export type Goal = { readonly atLeast: number } | { readonly atMost: number };

export type Order = "limit first" | "engine first";

export interface Round {
  readonly value: number;
  readonly limit: number;
  readonly ratio: number;
}

/** Per step, beside the limit's; and where the engine's time goes, in parts of the whole. */
export interface Detail {
  readonly engine: Traffic;
  readonly limit: Traffic;
  readonly split: Readonly<Record<string, number>>;
}

export interface Traffic {
  readonly rows: number;
  readonly transactions: number;
  readonly syncs: number;
  /** In the file when it is closed. */
  readonly bytes: number;
}
