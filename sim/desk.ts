import { FaultError } from "../src/core/fault.ts";
import type { JsonObject } from "../src/core/json/json.ts";
import type { Tool, ToolContext } from "../src/core/tool.ts";
import type { StateView } from "../src/engine/desk/state-api.ts";
import { defineSlice } from "../src/schema/define-slice.ts";
import { type Books, countsText, type Deed, MOST } from "./books.ts";
import { tool } from "./cast.ts";
import type { Limits } from "./limits.ts";
import { Rng } from "./rng.ts";
import type { Rules } from "./rules.ts";

const counts = defineSlice({
  name: "counts",
  shape: "map",
  entry: { type: "integer" },
  invariant: (count) => ((count as number) > MOST ? `is more than ${MOST}` : null),
  reducers: {
    told: (slice, { key }: { readonly key: string }) => slice.set(key, ((slice.get(key) as number) ?? 0) + 1),
  },
});
const notes = defineSlice({ name: "notes", shape: "list", entry: { type: "string" } });
const diary = defineSlice({ name: "diary", shape: "list", policy: "log", entry: { type: "string" } });

export const slices = [counts, notes, diary];

/** So few that states are kept in one piece now and then. */
export const SNAPSHOT_VERSIONS = 4;

/** Those who work on state. */
export const clerks: readonly Tool[] = [
  tool("keep", { effect: "writes", timeoutMs: 3000 }),
  tool("peek", { effect: "reads", timeoutMs: 3000 }),
];

/**
 * Another chance than the rest of a seed has, so that those without state play as they always did. Where calls are let through one a
 * minute, as many as state takes would never come to rest.
 */
export function drawDesk(seed: number, limits: Limits | null, rules: Rules | null): boolean {
  // Where people are asked, there should be something to show them.
  return (limits === null || limits.rates.length === 0) && new Rng(seed ^ 40_972).chance(rules === null ? 0.2 : 0.4);
}

/** A step that reads or writes state. */
export function drawDeskStep(rng: Rng, tenant: string): JsonObject {
  const key = drawKey(rng);
  if (rng.chance(0.5)) return { name: "keep", payload: { tenant, to: key }, ...(rng.chance(0.3) && { retries: 3 }) };
  if (rng.chance(0.3)) return { name: "peek", payload: { tenant, to: key } };
  if (rng.chance(0.4)) return { kind: "state_read", name: "state_read", payload: { path: rng.pick(places(key)) } };
  return { kind: "state_write", name: "state_write", payload: drawWrite(rng, key) };
}

function drawWrite(rng: Rng, key: string): JsonObject {
  if (rng.chance(0.3)) return { event: "told", payload: { key } };
  if (rng.chance(0.5)) return { path: "/notes/-", value: `w${rng.below(100)}` };
  return { path: `/counts/${key}`, value: rng.below(MOST + 2) };
}

const places = (key: string): readonly string[] => [`/counts/${key}`, "/notes", "/diary"];

function drawKey(rng: Rng): string {
  return `k${rng.below(3)}`;
}

/** What a state_write does, in the words of the books. */
export function deedOf({ path, value, event, payload }: JsonObject): Deed {
  if (event !== undefined) return { did: "tell", key: (payload as JsonObject).key as string };
  if (path === "/notes/-") return { did: "note", text: value as string };
  const key = String(path).slice("/counts/".length);
  return (value as number) > MOST ? { did: "break" } : { did: "set", key, value: value as number };
}

/** What a state_read answers. */
export function readOf({ counts, notes, diary }: Books, { path }: JsonObject): unknown {
  if (path === "/notes") return notes;
  if (path === "/diary") return diary;
  return counts[String(path).slice("/counts/".length)] ?? null;
}

/** All of it, as someone sees it who looks. */
export function booksOf(slice: StateView["slice"]): Books {
  return {
    counts: Object.fromEntries(slice(counts).all()) as Books["counts"],
    notes: slice(notes).all() as readonly string[],
    diary: slice(diary).all() as readonly string[],
  };
}

/** Does one thing or another with state, and says what. */
export function work(rng: Rng, { slice }: ToolContext, times: number, writes: boolean): readonly Deed[] {
  const deeds: Deed[] = [];
  for (let count = 0; count < times; count += 1) {
    const key = drawKey(rng);
    const reads = !writes || rng.chance(0.4);
    try {
      deeds.push(reads ? read(rng, slice, key) : write(rng, slice, key));
    } catch (error) {
      // Its call is over, or state does not take it; some look away.
      if (!(error instanceof FaultError)) throw error;
      if (error.fault.code === "STATE_INVALID") deeds.push({ did: "break" });
    }
  }
  return deeds;
}

type Hold = ToolContext["slice"];

function read(rng: Rng, slice: Hold, key: string): Deed {
  if (rng.chance(0.6)) return { did: "get", key, saw: (slice(counts).get(key) as number | undefined) ?? null };
  if (rng.chance(0.5)) return { did: "size", saw: slice(notes).size };
  return { did: "all", saw: countsText(Object.fromEntries(slice(counts).all()) as Books["counts"]) };
}

function write(rng: Rng, slice: Hold, key: string): Deed {
  const text = `t${rng.below(1000)}`;
  const what = rng.float();
  if (what < 0.3) {
    const value = rng.below(rng.chance(0.1) ? MOST + 3 : MOST + 1);
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

/** Lets state hear of something, and says so. */
export function tell(rng: Rng, { dispatch }: ToolContext): readonly Deed[] {
  const key = drawKey(rng);
  dispatch("told", { key });
  return [{ did: "tell", key }];
}
