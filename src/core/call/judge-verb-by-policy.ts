import type { Principal } from "../approval/principal.ts";
import type { Verb } from "../approval/verb-rules.ts";
import { planStep } from "../plan/plan.ts";
import { emptyRun, type Run } from "../run/run.ts";
import { newStep } from "../run/step.ts";
import type { Instant, RunId, StepId, WorkerId } from "../values/ids.ts";
import type { JsonObject } from "../values/json.ts";
import type { Admission, Policy, Verdict } from "./guard.ts";
import type { Proposal, ToolFacts } from "./proposal.ts";

/** The use of a verb, as rules of a policy judge it. */
export interface VerbUse extends Pick<Run, "project" | "session"> {
  readonly principal: Principal;
  readonly verb: Verb;
  /** The arguments that a condition of a rule can name. */
  readonly input: JsonObject;
  readonly now: Instant;
}

/**
 * Judges the use of a verb by the policy in force, like a call of a tool that has the name of the verb and the effect
 * `writes`.
 */
export function judgeVerbByPolicy(policy: Policy, use: VerbUse): Verdict {
  return policy.judge(verbAdmission(policy, use));
}

function verbAdmission(policy: Policy, { principal, verb, project, session, input, now }: VerbUse): Admission {
  const effect = "writes";
  const spec = planStep({ step_id: verb as string as StepId, kind: "verb", name: verb, effect, payload: input });
  const run = { ...emptyRun(verb as string as RunId, principal.tenant), principal, project, session };
  const proposal: Proposal = { ...emptyProposal, input, tool: { ...verbFacts, name: verb } };
  return { run, step: newStep(0, spec, null, null, 0), proposal, effect, now, policy, closure: null, conditions: [] };
}

const verbFacts: Omit<ToolFacts, "name"> = {
  version: "1",
  effect: "writes",
  tags: [],
  risk: "low",
  roles: [],
  confirmation: false,
  timeoutMs: 0,
  tries: 1,
  retry: "named",
  asks: null,
  settleAfterMs: 0,
  confirm: "none",
  idempotentForMs: null,
  errorsMean: "unknown",
  onDuplicate: "hold",
  safeIfAbsent: false,
  verifies: false,
  compensates: false,
};

const emptyProposal: Omit<Proposal, "input" | "tool"> = {
  call: null,
  derived: false,
  flaw: null,
  parked: null,
  away: null,
  trusted: false,
  record: null,
  ledger: null,
  reusable: null,
  signal: null,
  estimate: null,
  limits: [],
  captures: [],
  preview: null,
  policy_state: null,
  pins: null,
  gate_id: null,
  gate_ms: 0,
  boot: "",
  worker: "" as WorkerId,
};
