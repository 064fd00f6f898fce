import { z } from "zod";
import { Draft } from "../src/core/state/draft.ts";
import { NO_STATE, type ProjectState, patched } from "../src/core/state/project-state.ts";
import type { ListDraft } from "../src/core/state/slice.ts";
import { defineSlice } from "../src/schema/define-slice.ts";
import { type Measurement, sideBySide } from "./measurement.ts";
import { median } from "./samples.ts";

const calls = 5000;

/** The transaction around a call that appends one entry: a draft, the change, its patch, and the state with it. */
export function transactionTime(id: string, entries: number): Measurement {
  const slice = defineSlice({ name: "entries", shape: "list", entry: z.object({ n: z.number() }) });
  let made: ProjectState | null = null;
  return {
    id,
    about: `the transaction around a call that appends one entry to a slice of ${entries}, in memory`,
    beside: "reading the entry and pushing it onto an array",
    unit: "µs",
    goal: { of: "value", atMost: 30 },
    round: (order) => {
      made ??= stateOf(slice, entries);
      const base = made;
      return sideBySide(order, {
        engine: async () => perCall((at, state) => transaction(slice, at, state), base),
        limit: async () => perCall((at, list) => pushed(slice, at, list), [] as unknown[]),
      });
    },
  };
}

function stateOf({ version }: Entries, entries: number): ProjectState {
  const value = Array.from({ length: entries }, (_, n) => ({ n }));
  return patched(NO_STATE, [{ op: "init", path: "/entries", value, v: version }]);
}

type Entries = ReturnType<typeof defineSlice>;

function transaction(slice: Entries, n: number, state: ProjectState): ProjectState {
  const draft = new Draft(state, { slices: [slice], session: "", writes: true });
  (draft.slice(slice) as ListDraft<{ readonly n: number }>).append({ n });
  draft.close();
  return patched(state, draft.patch);
}

function pushed(slice: Entries, n: number, list: unknown[]): unknown[] {
  list.push(slice.entry.parse({ n }));
  return list;
}

/** The median of parts, each of calls one after the other, in microseconds per call. */
function perCall<State>(call: (at: number, state: State) => State, base: State): number {
  const parts: number[] = [];
  let state = base;
  for (let part = 0; part < 9; part += 1) {
    const start = performance.now();
    for (let at = 0; at < calls; at += 1) state = call(at, state);
    parts.push((1000 * (performance.now() - start)) / calls);
  }
  return median(parts);
}
