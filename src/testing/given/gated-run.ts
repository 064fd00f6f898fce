import type { Demand } from "../../core/approval/approval-demand.ts";
import type { Guard } from "../../core/call/guard.ts";
import { accepts, starts } from "./commands.ts";
import { plan, sendMail, step } from "./fixtures.ts";
import { given } from "./given.ts";

/** An act that a person must approve, and a step that depends on it. */
export const sendStep = step("send", { tool: sendMail });
export const acceptedRun = given(accepts(plan(sendStep, step("b", { after: ["send"] })), { mode: "human_gated" }));
export const heldRun = acceptedRun.when(starts("send"));

/** Makes a guard that holds the call with this demand, or allows it. */
export const guardDemanding = (demand: Demand | null): Guard => ({
  id: "policy",
  judge: () => (demand === null ? { kind: "allow" } : { kind: "hold", rule: "policy", reason: "rules", demand }),
});
