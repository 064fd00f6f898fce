import { TrieMap } from "../persistent/trie-map.ts";
import type { RunCost, WaitingFor } from "../store/tables.ts";
import type { Instant } from "../values/ids.ts";

/** The facts about a run that a list shows beside its names. It is made when the status changes, not with each step. */
export interface RunSummary {
  readonly updated_at: Instant;
  readonly waiting_for: readonly WaitingFor[];
  readonly tools: readonly string[];
  readonly steps: number;
  readonly succeeded: number;
  readonly done: number;
  readonly spent: RunCost;
}

/** The number of waiting steps for each cause of waiting. A cause without waiting steps is absent. */
export type WaitCounts = Readonly<Partial<Record<WaitingFor, number>>>;

/** The data of a run for lists. */
export interface RunListing {
  readonly title: string | null;
  readonly labels: readonly string[];
  readonly waits: WaitCounts;
  /** By step whose act is in doubt, the position of the event that last changed the doubt. */
  readonly doubts: TrieMap<number>;
  /** As of the last change of the status. */
  readonly summary: RunSummary;
}

const emptySummary: RunSummary = {
  updated_at: 0 as Instant,
  waiting_for: [],
  tools: [],
  steps: 0,
  succeeded: 0,
  done: 0,
  spent: {},
};

/** The listing of a run before its first event. */
export const emptyListing: RunListing = {
  title: null,
  labels: [],
  waits: {},
  doubts: TrieMap.empty(),
  summary: emptySummary,
};
