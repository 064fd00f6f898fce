import { ALLOW, type Guard } from "../../core/call/guard.ts";

/** Holds each call of a tool that declares `confirmation`, until its requester or an approver confirms it. */
export const toolConfirmationGuard: Guard = {
  id: "tool_confirmation",
  judge({ proposal: { tool }, step }) {
    if (tool?.confirmation !== true || step.cause?.by === "undo") return ALLOW;
    return {
      kind: "hold",
      rule: "tool_confirmation",
      reason: `${tool.name} needs a confirmation before each call`,
      demand: { role: null, kind: "confirmation" },
    };
  },
};
