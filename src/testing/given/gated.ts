import type { Demand } from "../../core/demand.ts";
import type { Guard } from "../../core/guard.ts";
import { given } from "../given.ts";
import { plan, sendMail, step } from "./cast.ts";
import { accepts, starts } from "./moves.ts";

/** An act that somebody has to say yes to, and a step behind it. */
export const send = step("send", { tool: sendMail });
export const asked = given(accepts(plan(send, step("b", { after: ["send"] })), { mode: "human_gated" }));
export const held = asked.when(starts("send"));

/** A policy that can change its mind. */
export const demanding = (demand: Demand | null): Guard => ({
  id: "policy",
  judge: () => (demand === null ? { kind: "allow" } : { kind: "hold", rule: "policy", reason: "rules", demand }),
});
