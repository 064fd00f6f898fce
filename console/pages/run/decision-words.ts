import type { ExplainedDecision } from "../../../src/core/run/explained-decision.ts";

type Decision = ExplainedDecision["decision"];

/** The words for a decision, as the page says them. */
export const decisionWords: Readonly<Record<Decision, string>> = {
  "let through": "allowed",
  held: "held",
  "put off": "delayed",
  refused: "refused",
  failed: "failed",
  endorsed: "approved by one",
  approved: "approved",
  amended: "approved, edited",
  escalated: "escalated",
  rejected: "rejected",
  expired: "expired",
  closed: "closed",
};

export const decisionTones: Readonly<Record<Decision, "good" | "hold" | "danger" | "soft">> = {
  "let through": "good",
  held: "hold",
  "put off": "hold",
  refused: "danger",
  failed: "danger",
  endorsed: "good",
  approved: "good",
  amended: "good",
  escalated: "hold",
  rejected: "danger",
  expired: "danger",
  closed: "soft",
};
