import type { Principal } from "../../core/approval/principal.ts";
import type { Admission } from "../../core/call/guard.ts";
import type { ToolFacts } from "../../core/call/proposal.ts";
import { type CostEstimate, estimatedUnits } from "../../core/limits/budget.ts";
import type { Expression, VariableFields } from "../../core/ports/expression.ts";
import { stepPrincipal } from "../../core/run/step-principal.ts";
import { type CollectedState, collectState, type NamedStatePointers } from "../../core/state/named-state-pointers.ts";
import type { Effect } from "../../core/values/effect.ts";
import type { Json } from "../../core/values/json.ts";

/** The variables in an expression of a policy. */
export const ruleVariables = ["input", "tool", "principal", "run", "step", "context", "estimate", "now"] as const;

/** The fields of the variables that Writ fills. Those of the input, the context and the claims are open. */
export const ruleFields: VariableFields = {
  tool: ["name", "version", "risk", "effect", "tags"],
  principal: ["id", "kind", "roles", "claims"],
  run: ["id", "mode", "origin", "plan_id", "spent"],
  estimate: estimatedUnits,
  step: ["id", "cause", "attempt"],
};

const nothingEstimated = {
  usd_micros: 0,
  credits: 0,
  tokens_in: 0,
  tokens_out: 0,
  ms: 0,
} satisfies Required<CostEstimate>;

/** The facts of a call that rules judge. A model cannot set any of them except the input. */
export class RuleInput {
  readonly admission: Admission;
  readonly tool: ToolFacts;
  readonly effect: Effect;
  readonly principal: Principal;
  /** The tags of the tool and of the step. */
  readonly tags: readonly string[];
  #data: Readonly<Record<string, Json>> | null = null;

  constructor(admission: Admission, tool: ToolFacts) {
    const { step, effect, run } = admission;
    const stepTags = step.spec.policy_tags;
    this.admission = admission;
    this.tool = tool;
    this.effect = effect;
    this.principal = stepPrincipal(run, step);
    this.tags = tool.tags.every((tag) => stepTags.includes(tag)) ? stepTags : [...new Set([...tool.tags, ...stepTags])];
  }

  get cause(): "plan" | "agent" | "errand" | "replan" | "undo" | "rollback" {
    return this.admission.step.cause?.by ?? "plan";
  }

  get input(): Json {
    return this.admission.proposal.input;
  }

  /** The variables of expressions; made once, at the first use. */
  get data(): Readonly<Record<string, Json>> {
    this.#data ??= this.#makeData();
    return this.#data;
  }

  #makeData(): Readonly<Record<string, Json>> {
    const { run, step, now, proposal } = this.admission;
    const { name, version, risk } = this.tool;
    const { id, kind, roles = [], claims = {} } = this.principal;
    return {
      input: this.input,
      tool: { name, version, risk, effect: this.effect, tags: this.tags },
      principal: { id, kind, roles, claims },
      run: {
        id: run.id,
        mode: run.mode,
        origin: run.origin,
        plan_id: run.plan?.plan_id ?? null,
        spent: { ...run.spent },
      },
      step: { id: step.spec.step_id, cause: this.cause, attempt: step.attempts + 1 },
      context: run.context,
      estimate: proposal.estimate === null ? null : { ...nothingEstimated, ...proposal.estimate },
      now,
    };
  }

  /** Returns whether an expression holds for the call, or why it cannot be evaluated. */
  evaluate(expression: Expression, state?: Readonly<Record<string, Json>>): boolean | { readonly wrong: string } {
    const answer = expression.test(state === undefined ? this.data : { ...this.data, state });
    return "wrong" in answer ? { wrong: answer.wrong } : answer.holds;
  }

  /** Returns the state at the pointers when the call starts, or why it cannot be read. */
  collectState(pointers: NamedStatePointers): CollectedState {
    return collectState(pointers, this.input, (path) => this.admission.proposal.policy_state?.places[path]);
  }
}
