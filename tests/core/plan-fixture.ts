import { type CheckedPlan, checkPlan, type PlanRules } from "../../src/core/plan/check-plan.ts";
import type { Plan, PlanStep } from "../../src/core/plan/plan.ts";
import type { Parsed, Schema } from "../../src/core/ports/schema.ts";
import type { Tool } from "../../src/core/tool/tool.ts";
import { fault } from "../../src/core/values/fault.ts";
import type { Digest } from "../../src/core/values/ids.ts";

/** Makes a tool that is never called. Its input accepts anything by default. */
export function planTool(name: string, more: Partial<Tool> = {}): Tool {
  return {
    name,
    version: "1",
    effect: "reads",
    description: "",
    tags: [],
    risk: "low",
    roles: [],
    confirmation: false,
    asksFor: {},
    preconditions: [],
    input: schema((value) => ({ ok: true, value: value as never })),
    output: schema((value) => ({ ok: true, value: value as never })),
    identity: null,
    timeoutMs: 1000,
    asks: null,
    heartbeatMs: null,
    tries: null,
    retry: "named",
    cache: "never",
    cacheTtlMs: null,
    cacheShare: "principal",
    cost: null,
    resources: {},
    external: false,
    stateReads: null,
    stateWrites: null,
    redact: [],
    settleAfterMs: 1000,
    confirm: "none",
    idempotentForMs: null,
    errorsMean: "unknown",
    onDuplicate: "hold",
    safeIfAbsent: false,
    abort: "never",
    run: async () => null,
    preview: null,
    verify: null,
    verifyChange: null,
    compensate: null,
    ...more,
  };
}

function schema(parse: (value: unknown) => Parsed): Schema {
  return { hash: "0" as Digest, json: {}, parse };
}

const refusingSchema = schema(() => ({
  ok: false,
  fault: fault("INVALID_INPUT", "/to: is missing; /n: is no number", {
    issues: [
      { path: "/to", message: "is missing" },
      { path: "/n", message: "is no number" },
    ],
  }),
}));

const planTools: readonly Tool[] = [
  planTool("ask"),
  planTool("compute", { effect: "pure", cache: "use_if_safe", cacheTtlMs: 1000 }),
  planTool("note", { effect: "writes", tags: ["notes"] }),
  planTool("send", { effect: "acts", tags: ["outside"] }),
  planTool("pay", { effect: "acts", identity: [{ pointer: "/id", normalize: null }] }),
  planTool("login", { redact: ["/token", "/user/secret"] }),
  planTool("demand", { input: refusingSchema }),
  planTool("broken", { input: schema(() => ({ ok: false, fault: fault("SCHEMA_UNUSABLE", "is asynchronous") })) }),
];

export function toolsByName(tools: readonly Tool[]): PlanRules["tools"] {
  return { get: (name) => tools.find((tool) => tool.name === name), all: () => tools };
}

export function checkTestPlan(plan: unknown, rules: Partial<PlanRules> = {}): CheckedPlan {
  return checkPlan(plan, { tools: toolsByName(planTools), context: {}, strict: false, ...rules });
}

export function planReasons(plan: unknown, rules: Partial<PlanRules> = {}): readonly string[] {
  const checked = checkTestPlan(plan, rules);
  return checked.ok ? [] : checked.reasons.map(({ path, message }) => `${path}: ${message}`);
}

export function acceptedPlan(plan: unknown, rules: Partial<PlanRules> = {}): Plan {
  const checked = checkTestPlan(plan, rules);
  if (!checked.ok) throw new Error(JSON.stringify(checked.reasons));
  return checked.plan;
}

/** Returns the second step of a checked plan with two steps. */
export function secondStep(step: object, rules: Partial<PlanRules> = {}): PlanStep {
  return acceptedPlan(planWithSecondStep(step), rules).steps[1] as PlanStep;
}

export function secondStepReasons(step: object, rules: Partial<PlanRules> = {}): readonly string[] {
  return planReasons(planWithSecondStep(step), rules).map((reason) => reason.replace(/^\/steps\/1/, ""));
}

function planWithSecondStep(step: object): object {
  return {
    steps: [
      { step_id: "first", name: "ask" },
      { step_id: "second", name: "ask", ...step },
    ],
  };
}
