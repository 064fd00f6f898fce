import { checkJson } from "../json/check-json.ts";
import type { Tool } from "../tool/tool.ts";
import type { Json, JsonObject } from "../values/json.ts";
import { type CheckedPlan, checkPlan, checkPlanJson } from "./check-plan.ts";
import { planLimits } from "./plan.ts";
import type { KnownTools } from "./plan-context.ts";

type AcceptedPlan = Extract<CheckedPlan, { ok: true }>;

/** A plan that passed, and the tools that it was checked against. */
interface CachedPlan {
  readonly checked: AcceptedPlan;
  readonly tools: readonly (Tool | undefined)[];
}

const CACHED_PLANS_MAX = 100;

/** The length of the text of a plan that is kept. Checking a longer one takes little time beside its execution. */
const CACHED_TEXT_MAX = 32 * 1024;

/**
 * Checks plans from outside, and keeps those that passed by their text: programs submit one plan many times. Runs share
 * a kept plan, so it is frozen. A plan is checked again if one of its tools was replaced or removed, and every time if
 * its request has a context.
 */
export class PlanCache {
  /** True: every step must declare its effects, tags, cache policy and template. */
  readonly strict: boolean;
  readonly #tools: KnownTools;
  readonly #cached = new Map<string, CachedPlan>();

  constructor(tools: KnownTools, strict: boolean) {
    this.#tools = tools;
    this.strict = strict;
  }

  check(raw: unknown, context: JsonObject): CheckedPlan {
    const rules = { tools: this.#tools, context, strict: this.strict };
    const json = Object.keys(context).length === 0 ? checkJson(raw, planLimits) : null;
    if (json === null || !json.ok) return checkPlan(raw, rules);
    const text = JSON.stringify(json.value);
    const known = this.#cached.get(text);
    if (known !== undefined && this.#hasTools(known)) return known.checked;
    const checked = checkPlanJson(json.value, rules);
    if (checked.ok && text.length <= CACHED_TEXT_MAX) this.#keep(text, checked);
    return checked;
  }

  #hasTools({ checked: { plan }, tools }: CachedPlan): boolean {
    return plan.steps.every(({ name }, index) => this.#tools.get(name) === tools[index]);
  }

  #keep(text: string, checked: AcceptedPlan): void {
    freezeJson(checked.plan as unknown as Json);
    if (this.#cached.size >= CACHED_PLANS_MAX) this.#cached.clear();
    this.#cached.set(text, { checked, tools: checked.plan.steps.map(({ name }) => this.#tools.get(name)) });
  }
}

/** Freezes a value with all its members. The nesting depth of a plan has a limit. */
function freezeJson(value: Json): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const member of Object.values(value)) freezeJson(member as Json);
}
