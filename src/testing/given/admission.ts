import type { Admission, Policy } from "../../core/call/guard.ts";
import type { Proposal } from "../../core/call/proposal.ts";
import type { Mode } from "../../core/values/effect.ts";
import { accepts, does, undoes } from "./commands.ts";
import { plan, sendMail, step } from "./fixtures.ts";
import { type GivenRun, given } from "./given.ts";

/** A policy that allows everything. */
export const lenientPolicy: Policy = {
  version: "v",
  checks: [],
  mode: null,
  maxSteps: () => null,
  trusts: () => false,
  earns: () => false,
  limits: [],
  limitsFor: () => [],
  statePointersFor: () => [],
  brokenInvariant: () => null,
  judge: () => ({ kind: "allow" }),
};

/** Makes the admission of a step at the current time of the run. */
export function admissionFor(
  givenRun: GivenRun,
  id: string,
  overrides: Partial<Proposal> & Partial<Pick<Admission, "effect" | "conditions">> = {},
): Admission {
  const { effect = givenRun.step(id).spec.effect, conditions = [], ...rest } = overrides;
  const proposal = { tool: givenRun.tool(id), flaw: null, trusted: false, ...rest } as Proposal;
  const { run, now } = givenRun;
  return { run, step: givenRun.step(id), proposal, effect, now, policy: null, closure: null, conditions };
}

/** Makes a run in which a person undoes an act. */
export const givenUndo = (mode: Mode, more = {}): GivenRun => {
  const tool = { ...sendMail, compensates: true };
  return given(accepts(plan(step("send", { tool })), { mode, ...more })).when(does("send"), undoes("send"));
};
