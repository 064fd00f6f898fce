import type { Tool, ToolContext } from "../src/core/tool/tool.ts";
import { FaultError } from "../src/core/values/fault.ts";
import type { JsonObject } from "../src/core/values/json.ts";
import type { StateView } from "../src/engine/api/state-api.ts";
import { defineSlice } from "../src/schema/define-slice.ts";
import { Rng } from "./rng.ts";
import type { SimLimits } from "./sim-limits.ts";
import type { SimRules } from "./sim-rules.ts";
import { simTool } from "./sim-tools.ts";
import { formatCounts, MAX_COUNT, type StateModel, type StateOperation } from "./state-model.ts";

const counts = defineSlice({
  name: "counts",
  shape: "map",
  entry: { type: "integer" },
  invariant: (count) => ((count as number) > MAX_COUNT ? `is more than ${MAX_COUNT}` : null),
  reducers: {
    told: (slice, { key }: { readonly key: string }) => slice.set(key, ((slice.get(key) as number) ?? 0) + 1),
  },
});
const notes = defineSlice({ name: "notes", shape: "list", entry: { type: "string" } });
const diary = defineSlice({ name: "diary", shape: "list", policy: "log", entry: { type: "string" } });

export const simSlices = [counts, notes, diary];

/** A small number, so that snapshots are written. */
export const SIM_SNAPSHOT_VERSIONS = 4;

/** Tools that read and write state. */
export const simStateTools: readonly Tool[] = [
  simTool("keep", { effect: "writes", timeoutMs: 3000 }),
  simTool("peek", { effect: "reads", timeoutMs: 3000 }),
];

/**
 * Draws from a random source of its own, so that seeds without state stay as they are. Never with a rate limit: its
 * waits would keep the many calls on state from settling.
 */
export function drawUsesState(seed: number, limits: SimLimits | null, rules: SimRules | null): boolean {
  // Rules make calls on state more likely, because those have previews.
  return (limits === null || limits.rates.length === 0) && new Rng(seed ^ 40_972).chance(rules === null ? 0.2 : 0.4);
}

/** A step that reads or writes state. */
export function drawStateStep(rng: Rng, tenant: string): JsonObject {
  const key = drawKey(rng);
  if (rng.chance(0.5)) return { name: "keep", payload: { tenant, to: key }, ...(rng.chance(0.3) && { retries: 3 }) };
  if (rng.chance(0.3)) return { name: "peek", payload: { tenant, to: key } };
  if (rng.chance(0.4)) return { kind: "state_read", name: "state_read", payload: { path: rng.pick(statePaths(key)) } };
  return { kind: "state_write", name: "state_write", payload: drawStateWrite(rng, key) };
}

function drawStateWrite(rng: Rng, key: string): JsonObject {
  if (rng.chance(0.3)) return { event: "told", payload: { key } };
  if (rng.chance(0.5)) return { path: "/notes/-", value: `w${rng.below(100)}` };
  return { path: `/counts/${key}`, value: rng.below(MAX_COUNT + 2) };
}

const statePaths = (key: string): readonly string[] => [`/counts/${key}`, "/notes", "/diary"];

function drawKey(rng: Rng): string {
  return `k${rng.below(3)}`;
}

/** Returns the operation of a state_write step. */
export function toStateOperation({ path, value, event, payload }: JsonObject): StateOperation {
  if (event !== undefined) return { did: "tell", key: (payload as JsonObject).key as string };
  if (path === "/notes/-") return { did: "note", text: value as string };
  const key = String(path).slice("/counts/".length);
  return (value as number) > MAX_COUNT ? { did: "break" } : { did: "set", key, value: value as number };
}

/** Returns the expected answer of a state_read step. */
export function expectedRead({ counts, notes, diary }: StateModel, { path }: JsonObject): unknown {
  if (path === "/notes") return notes;
  if (path === "/diary") return diary;
  return counts[String(path).slice("/counts/".length)] ?? null;
}

/** Reads the whole state. */
export function readStateModel(slice: StateView["slice"]): StateModel {
  return {
    counts: Object.fromEntries(slice(counts).all()) as StateModel["counts"],
    notes: slice(notes).all() as readonly string[],
    diary: slice(diary).all() as readonly string[],
  };
}

/** Runs random operations on state and returns them. */
export function runStateOperations(
  rng: Rng,
  { slice }: ToolContext,
  times: number,
  writes: boolean,
): readonly StateOperation[] {
  const operations: StateOperation[] = [];
  for (let count = 0; count < times; count += 1) {
    const key = drawKey(rng);
    const reads = !writes || rng.chance(0.4);
    try {
      operations.push(reads ? runStateRead(rng, slice, key) : runStateWrite(rng, slice, key));
    } catch (error) {
      // The call has ended or state refuses the write; some calls ignore that.
      if (!(error instanceof FaultError)) throw error;
      if (error.fault.code === "STATE_INVALID") operations.push({ did: "break" });
    }
  }
  return operations;
}

type SliceAccess = ToolContext["slice"];

function runStateRead(rng: Rng, slice: SliceAccess, key: string): StateOperation {
  if (rng.chance(0.6)) return { did: "get", key, saw: (slice(counts).get(key) as number | undefined) ?? null };
  if (rng.chance(0.5)) return { did: "size", saw: slice(notes).size };
  return { did: "all", saw: formatCounts(Object.fromEntries(slice(counts).all()) as StateModel["counts"]) };
}

function runStateWrite(rng: Rng, slice: SliceAccess, key: string): StateOperation {
  const text = `t${rng.below(1000)}`;
  const what = rng.float();
  if (what < 0.3) {
    const value = rng.below(rng.chance(0.1) ? MAX_COUNT + 3 : MAX_COUNT + 1);
    slice(counts).set(key, value);
    return { did: "set", key, value };
  }
  if (what < 0.4) {
    slice(counts).delete(key);
    return { did: "delete", key };
  }
  if (what < 0.6 || slice(notes).size === 0) {
    slice(notes).append(text);
    return { did: "note", text };
  }
  if (what < 0.75) {
    slice(notes).set(0, text);
    return { did: "correct", text };
  }
  slice(diary).append(text);
  return { did: "log", text };
}

/** Dispatches a random state event and returns its operation. */
export function dispatchStateEvent(rng: Rng, { dispatch }: ToolContext): readonly StateOperation[] {
  const key = drawKey(rng);
  dispatch("told", { key });
  return [{ did: "tell", key }];
}
