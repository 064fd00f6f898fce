import { type Fault, fault } from "./fault.ts";
import type { Digest, Instant } from "./id.ts";
import { type Json, sameJson } from "./json/json.ts";
import type { Estimate } from "./limits/budget.ts";
import type { Patch } from "./state/patch.ts";
import type { Check } from "./store.ts";

/** What a held call would do, as far as that can be told without doing it. Whoever approves the call approves this. */
export interface Preview {
  /** What it would answer. Absent: that is known once it has run. */
  readonly output?: Json;
  /** What it would write to state. Absent: nothing, or nobody can tell. */
  readonly patch?: Patch;
  /** Why it would fail, as things are. */
  readonly fault?: Fault;
  readonly pins: Pins;
}

/** What a preview was told from. */
export interface Pins {
  readonly at: Instant;
  /** The version of the project's state; null: it was not looked at. */
  readonly version: number | null;
  /** By pointer, what was read of it. */
  readonly reads: Readonly<Record<string, Digest>>;
  /** By name, the resources that it changes. */
  readonly resources: Readonly<Record<string, Digest>>;
}

/** How what a preview was told from stands now. */
export interface PinFact extends Pick<Pins, "reads" | "resources"> {
  /** Of the state that was looked at: as long as it holds, so does the rest. Null: there was none. */
  readonly check: Check | null;
}

/** What was shown to whoever said yes. */
interface Shown {
  readonly gate_id: string;
  readonly preview?: Preview;
  readonly estimate?: Estimate;
}

/** Why what was approved is not what would run now; null: it is; unseen: someone has to look. */
export function driftFrom(
  shown: Shown,
  now: { readonly pins: PinFact | null; readonly estimate: Estimate | null },
): Fault | "unseen" | null {
  const { gate_id, preview, estimate } = shown;
  const pins = preview?.pins;
  const isPinned = pins !== undefined && Object.keys(pins.reads).length + Object.keys(pins.resources).length > 0;
  if (isPinned && now.pins === null) return "unseen";
  const moved = [
    ...(isPinned && now.pins !== null ? differing(pins.reads, now.pins.reads) : []),
    ...(isPinned && now.pins !== null ? differing(pins.resources, now.pins.resources) : []),
    ...(estimate !== undefined && isDearer(estimate, now.estimate) ? ["what it costs"] : []),
  ];
  if (moved.length === 0) return null;
  const message = `${moved.join(", ")} changed since gate ${gate_id} was shown; it has to be approved as it is now`;
  return fault("PREVIEW_STALE", message, { changed: moved });
}

function differing(then: Readonly<Record<string, Digest>>, now: Readonly<Record<string, Digest>>): readonly string[] {
  return Object.keys(then).filter((name) => then[name] !== now[name]);
}

/** Less is no surprise to whoever agreed to more. */
function isDearer(then: Estimate, now: Estimate | null): boolean {
  if (now === null) return true;
  return Object.entries(now).some(([unit, amount]) => amount > (then[unit as keyof Estimate] ?? 0));
}

/** Why what a call did is not what was shown; null: it is, or nobody could tell before. */
export function surprise({ gate_id, preview }: Shown, output: Json, written: Patch | null): Fault | null {
  const answers = preview?.output === undefined || sameJson(preview.output, output);
  const writes = preview?.patch === undefined || sameJson(kept(preview.patch), kept(written ?? []));
  if (answers && writes) return null;
  const what = writes ? "answered" : "wrote";
  return fault("PREVIEW_STALE", `it ${what} something else than gate ${gate_id} had shown; nothing of it is left`);
}

/** That a slice came into being makes no difference to anyone. */
function kept(patch: Patch): Json {
  return patch.filter(({ op }) => op !== "init") as unknown as Json;
}
