import type { Effect } from "../core/effect.ts";
import type { Expression } from "../core/expression.ts";
import type { Admission } from "../core/guard.ts";
import type { Json } from "../core/json/json.ts";
import type { Principal } from "../core/principal.ts";
import type { ToolFacts } from "../core/proposal.ts";

/** What an expression of a policy may speak of. */
export const variables = ["input", "tool", "principal", "run", "step", "context", "now"] as const;

/** A call as the rules look at it: all of it is fact, nothing is what a model said of itself. */
export class Case {
  readonly admission: Admission;
  readonly tool: ToolFacts;
  readonly effect: Effect;
  readonly principal: Principal;
  /** Of the tool and of the step. */
  readonly tags: readonly string[];
  #data: Readonly<Record<string, Json>> | null = null;

  constructor(admission: Admission, tool: ToolFacts) {
    const { step, effect, run } = admission;
    const own = step.spec.policy_tags;
    this.admission = admission;
    this.tool = tool;
    this.effect = effect;
    this.principal = run.principal;
    this.tags = tool.tags.every((tag) => own.includes(tag)) ? own : [...new Set([...tool.tags, ...own])];
  }

  get cause(): "plan" | "agent" | "errand" | "undo" {
    return this.admission.step.cause?.by ?? "plan";
  }

  get input(): Json {
    return this.admission.proposal.input;
  }

  /** Made when the first expression asks, for all of them. */
  get data(): Readonly<Record<string, Json>> {
    this.#data ??= this.#described();
    return this.#data;
  }

  #described(): Readonly<Record<string, Json>> {
    const { run, step, now } = this.admission;
    const { name, version, risk } = this.tool;
    const { id, kind, roles = [], claims = {} } = this.principal;
    return {
      input: this.input,
      tool: { name, version, risk, effect: this.effect, tags: this.tags },
      principal: { id, kind, roles, claims },
      run: { id: run.id, mode: run.mode, origin: run.origin, plan_id: run.plan?.plan_id ?? null },
      step: { id: step.spec.step_id, cause: this.cause, attempt: step.attempts + 1 },
      context: run.context,
      now,
    };
  }

  /** Whether an expression holds of it, or what keeps it from being answered. */
  asks(expression: Expression): boolean | { readonly wrong: string } {
    const answer = expression.test(this.data);
    return "wrong" in answer ? { wrong: answer.wrong } : answer.holds;
  }
}
