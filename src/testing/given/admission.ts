import type { Effect, Mode } from "../../core/effect.ts";
import type { Admission, Policy } from "../../core/guard.ts";
import type { Proposal } from "../../core/proposal.ts";
import { given, type Told } from "../given.ts";
import { plan, sendMail, step } from "./cast.ts";
import { accepts, does, undoes } from "./moves.ts";

/** A policy that has nothing against anything. */
export const lenient: Policy = {
  version: "v",
  checks: [],
  mode: null,
  stepsMost: () => null,
  trusts: () => false,
  earns: () => false,
  limits: [],
  limitsFor: () => [],
  placesFor: () => [],
  broken: () => null,
  judge: () => ({ kind: "allow" }),
};

/** What a guard is shown of a step, with a tool and at a time. */
export function admission(told: Told, id: string, wish: Partial<Proposal> & { effect?: Effect } = {}): Admission {
  const { effect = told.step(id).spec.effect, ...rest } = wish;
  const proposal = { tool: told.tool(id), flaw: null, trusted: false, ...rest } as Proposal;
  return { run: told.run, step: told.step(id), proposal, effect, now: told.now, policy: null, closure: null };
}

/** A run whose act a person undoes. */
export const undoing = (mode: Mode, more = {}): Told => {
  const tool = { ...sendMail, compensates: true };
  return given(accepts(plan(step("send", { tool })), { mode, ...more })).when(does("send"), undoes("send"));
};
