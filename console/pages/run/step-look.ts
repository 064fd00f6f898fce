import type { StepState } from "../../../src/core/run/step.ts";
import type { PhaseKind } from "./step-history.ts";

/** The mark of a state: its colour, and a sign, because a colour alone says nothing to some readers. */
export interface StepLook {
  readonly tone: "good" | "hold" | "danger" | "doubt" | "active" | "soft";
  readonly sign: string;
  readonly words: string;
}

export const stepLooks: Readonly<Record<StepState, StepLook>> = {
  pending: { tone: "soft", sign: "·", words: "not reached" },
  ready: { tone: "active", sign: "›", words: "ready" },
  waiting_approval: { tone: "hold", sign: "‖", words: "waits for a person" },
  waiting: { tone: "hold", sign: "…", words: "waits" },
  running: { tone: "active", sign: "▸", words: "runs" },
  succeeded: { tone: "good", sign: "✓", words: "succeeded" },
  failed_retryable: { tone: "hold", sign: "↻", words: "is tried again" },
  failed_final: { tone: "danger", sign: "✕", words: "failed" },
  in_doubt: { tone: "doubt", sign: "?", words: "in doubt" },
  rejected: { tone: "danger", sign: "⊘", words: "refused" },
  skipped: { tone: "soft", sign: "–", words: "skipped" },
  cancelled: { tone: "soft", sign: "–", words: "cancelled" },
  compensating: { tone: "active", sign: "↶", words: "is being undone" },
  compensated: { tone: "soft", sign: "↶", words: "undone" },
  compensation_failed: { tone: "danger", sign: "!", words: "could not be undone" },
};

export const phaseWords: Readonly<Record<PhaseKind, string>> = {
  queued: "waits for a worker",
  running: "executes",
  person: "waits for a person",
  waiting: "waits",
  retrying: "waits for the next attempt",
  doubt: "in doubt",
  undoing: "is being undone",
};
