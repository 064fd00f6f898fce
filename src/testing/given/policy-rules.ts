import type { Principal } from "../../core/approval/principal.ts";
import type { Admission, Verdict } from "../../core/call/guard.ts";
import type { Proposal, ToolFacts } from "../../core/call/proposal.ts";
import type { Effect } from "../../core/values/effect.ts";
import type { Instant } from "../../core/values/ids.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import { cel } from "../../expression/cel.ts";
import { CompiledPolicy } from "../../policy/compiled-policy.ts";
import { type PolicyDocument, parsePolicy } from "../../policy/parser/parse-policy.ts";
import { accepts } from "./commands.ts";
import { noon, plan, robin, sendMail, step } from "./fixtures.ts";
import { type GivenRun, given } from "./given.ts";

/** Makes a policy with these rules. */
export function policyWith(rules: readonly Json[], more: JsonObject = {}): PolicyDocument {
  const read = parsePolicy({ schema_version: "1.0", name: "house", rules, ...more }, cel);
  if (!read.ok) throw new Error(read.reasons.map(({ path, message }) => `${path}: ${message}`).join("; "));
  return read.policy;
}

export interface CallOptions {
  readonly tool?: ToolFacts;
  readonly input?: Json;
  readonly now?: number;
  readonly effect?: Effect;
  readonly principal?: Principal;
  readonly tags?: readonly string[];
  readonly givenRun?: GivenRun;
  readonly id?: string;
}

/** Makes the admission of one call, by default the first call of its run. */
export function callAdmission({
  tool = sendMail,
  input = { to: "ana" },
  tags = [],
  ...options
}: CallOptions = {}): Admission {
  const givenRun =
    options.givenRun ??
    given(accepts(plan(step("do", { tool, policy_tags: tags })), { principal: options.principal ?? robin }));
  const proposal = { tool, input } as Proposal;
  const target = givenRun.step(options.id ?? "do");
  return {
    run: givenRun.run,
    step: target,
    proposal,
    effect: options.effect ?? tool.effect,
    now: (options.now ?? noon) as Instant,
    policy: null,
    closure: null,
    conditions: [],
  };
}

export const verdictOn = (rules: readonly Json[], options: CallOptions = {}, more: JsonObject = {}): Verdict =>
  new CompiledPolicy("v1", [policyWith(rules, more)]).judge(callAdmission(options));
export const verdictKind = (rules: readonly Json[], options: CallOptions = {}, more: JsonObject = {}) =>
  verdictOn(rules, options, more).kind;
export const refusalMessage = (verdict: Verdict) => (verdict.kind === "refuse" ? verdict.fault.message : "not refused");
