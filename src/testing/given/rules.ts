import type { Effect } from "../../core/effect.ts";
import type { Admission, Verdict } from "../../core/guard.ts";
import type { Instant } from "../../core/id.ts";
import type { Json, JsonObject } from "../../core/json/json.ts";
import type { Principal } from "../../core/principal.ts";
import type { Proposal, ToolFacts } from "../../core/proposal.ts";
import { cel } from "../../expression/cel.ts";
import { type PolicyPart, readPolicy } from "../../policy/read-policy.ts";
import { RuleBook } from "../../policy/rule-book.ts";
import { given, type Told } from "../given.ts";
import { noon, plan, robin, sendMail, step } from "./cast.ts";
import { accepts } from "./moves.ts";

/** A policy that says this. */
export function part(rules: readonly Json[], more: JsonObject = {}): PolicyPart {
  const read = readPolicy({ schema_version: "1.0", name: "house", rules, ...more }, cel);
  if (!read.ok) throw new Error(read.reasons.map(({ path, message }) => `${path}: ${message}`).join("; "));
  return read.policy;
}

export interface Wish {
  readonly tool?: ToolFacts;
  readonly input?: Json;
  readonly now?: number;
  readonly effect?: Effect;
  readonly principal?: Principal;
  readonly tags?: readonly string[];
  readonly told?: Told;
  readonly id?: string;
}

/** What a policy is shown of one call, the first of its run unless a story is told. */
export function shown({ tool = sendMail, input = { to: "ana" }, tags = [], ...wish }: Wish = {}): Admission {
  const told =
    wish.told ?? given(accepts(plan(step("do", { tool, policy_tags: tags })), { principal: wish.principal ?? robin }));
  const proposal = { tool, input } as Proposal;
  const of = told.step(wish.id ?? "do");
  return {
    run: told.run,
    step: of,
    proposal,
    effect: wish.effect ?? tool.effect,
    now: (wish.now ?? noon) as Instant,
    policy: null,
    closure: null,
  };
}

export const judged = (rules: readonly Json[], wish: Wish = {}, more: JsonObject = {}): Verdict =>
  new RuleBook("v1", [part(rules, more)]).judge(shown(wish));
export const kind = (rules: readonly Json[], wish: Wish = {}, more: JsonObject = {}) => judged(rules, wish, more).kind;
export const why = (verdict: Verdict) => (verdict.kind === "refuse" ? verdict.fault.message : "it was not refused");
