import type { VNode } from "preact";

type Tone = "good" | "hold" | "danger" | "doubt" | "active" | "soft";

const tones: Readonly<Record<string, Tone>> = {
  completed: "good",
  succeeded: "good",
  approved: "good",
  consumed: "good",
  waiting: "hold",
  waiting_approval: "hold",
  open: "hold",
  parked: "hold",
  blocked: "hold",
  partial: "hold",
  failed: "danger",
  failed_final: "danger",
  failed_retryable: "danger",
  rejected: "danger",
  compensation_failed: "danger",
  in_doubt: "doubt",
  running: "active",
  compensating: "active",
  rolling_back: "active",
  ready: "active",
};

/** The state of a run, a step, a gate or an act. The word says it; the colour repeats it. */
export function StatusPill({ status, tone }: { readonly status: string; readonly tone?: Tone }): VNode {
  return <span class={`pill pill-${tone ?? tones[status] ?? "soft"}`}>{status.replaceAll("_", " ")}</span>;
}
