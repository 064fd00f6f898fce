import type { VNode } from "preact";
import type { Effect } from "../../src/core/values/effect.ts";
import { StatusPill } from "./status-pill.tsx";

const tones = { pure: "soft", reads: "active", writes: "hold", acts: "danger" } as const;

/** The worst thing that a tool can do to the world. */
export function EffectMark({ effect }: { readonly effect: Effect }): VNode {
  return <StatusPill status={effect} tone={tones[effect]} />;
}
