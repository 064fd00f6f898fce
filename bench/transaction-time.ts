import { z } from "zod";
import { Draft } from "../src/core/state/draft.ts";
import { applyPatch, EMPTY_STATE, type ProjectState } from "../src/core/state/project-state.ts";
import type { ListDraft } from "../src/core/state/slice.ts";
import { defineSlice } from "../src/schema/define-slice.ts";
import { type Measurement, measurePair } from "./measurement.ts";
import { median } from "./samples.ts";

const calls = 5000;

/** Measures the state transaction of a call that appends one entry: draft, change, patch and next state. */
export function transactionTime(id: string, entries: number): Measurement {
  const slice = defineSlice({ name: "entries", shape: "list", entry: z.object({ n: z.number() }) });
  let made: ProjectState | null = null;
  return {
    id,
    about: `the transaction around a call that appends one entry to a slice of ${entries}, in memory`,
    limitAbout: "reading the entry and pushing it onto an array",
    unit: "µs",
    goal: { of: "value", atMost: 30 },
    round: (order) => {
      made ??= stateWithEntries(slice, entries);
      const base = made;
      return measurePair(order, {
        engine: async () => microsPerCall((at, state) => runTransaction(slice, at, state), base),
        limit: async () => microsPerCall((at, list) => pushEntry(slice, at, list), [] as unknown[]),
      });
    },
  };
}

function stateWithEntries({ version }: EntriesSlice, entries: number): ProjectState {
  const value = Array.from({ length: entries }, (_, n) => ({ n }));
  return applyPatch(EMPTY_STATE, [{ op: "init", path: "/entries", value, v: version }]);
}

type EntriesSlice = ReturnType<typeof defineSlice>;

function runTransaction(slice: EntriesSlice, n: number, state: ProjectState): ProjectState {
  const draft = new Draft(state, { slices: [slice], session: "", writes: true });
  (draft.slice(slice) as ListDraft<{ readonly n: number }>).append({ n });
  draft.close();
  return applyPatch(state, draft.patch);
}

function pushEntry(slice: EntriesSlice, n: number, list: unknown[]): unknown[] {
  list.push(slice.entry.parse({ n }));
  return list;
}

/** Returns the median time per call in microseconds over several series of calls. */
function microsPerCall<State>(call: (at: number, state: State) => State, base: State): number {
  const parts: number[] = [];
  let state = base;
  for (let part = 0; part < 9; part += 1) {
    const start = performance.now();
    for (let at = 0; at < calls; at += 1) state = call(at, state);
    parts.push((1000 * (performance.now() - start)) / calls);
  }
  return median(parts);
}
