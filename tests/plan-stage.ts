import { fault } from "../src/core/fault.ts";
import type { Digest } from "../src/core/id.ts";
import { type CheckedPlan, checkPlan, type PlanRules } from "../src/core/plan/check-plan.ts";
import type { Plan, PlanStep } from "../src/core/plan/plan.ts";
import type { Parsed, Schema } from "../src/core/schema.ts";
import type { Tool } from "../src/core/tool.ts";

/** A tool that is only looked at. Its input takes anything, unless told otherwise. */
export function stageTool(name: string, more: Partial<Tool> = {}): Tool {
  return {
    name,
    version: "1",
    effect: "reads",
    description: "",
    tags: [],
    risk: "low",
    roles: [],
    preconditions: [],
    input: schema((value) => ({ ok: true, value: value as never })),
    output: schema((value) => ({ ok: true, value: value as never })),
    identity: null,
    timeoutMs: 1000,
    heartbeatMs: null,
    tries: null,
    cache: "never",
    cacheTtlMs: null,
    cost: null,
    resources: {},
    stateReads: null,
    stateWrites: null,
    redact: [],
    settleAfterMs: 1000,
    confirm: "none",
    idempotentForMs: null,
    errorsMean: "unknown",
    onDuplicate: "hold",
    safeIfAbsent: false,
    run: async () => null,
    preview: null,
    verify: null,
    compensate: null,
    ...more,
  };
}

function schema(parse: (value: unknown) => Parsed): Schema {
  return { hash: "0" as Digest, json: {}, parse };
}

const demanding = schema(() => ({
  ok: false,
  fault: fault("INVALID_INPUT", "/to: is missing; /n: is no number", {
    issues: [
      { path: "/to", message: "is missing" },
      { path: "/n", message: "is no number" },
    ],
  }),
}));

const stageTools: readonly Tool[] = [
  stageTool("ask"),
  stageTool("compute", { effect: "pure", cache: "use_if_safe", cacheTtlMs: 1000 }),
  stageTool("note", { effect: "writes", tags: ["notes"] }),
  stageTool("send", { effect: "acts", tags: ["outside"] }),
  stageTool("pay", { effect: "acts", identity: ["/id"] }),
  stageTool("login", { redact: ["/token", "/user/secret"] }),
  stageTool("demand", { input: demanding }),
  stageTool("broken", { input: schema(() => ({ ok: false, fault: fault("SCHEMA_UNUSABLE", "is asynchronous") })) }),
];

export function toolsNamed(tools: readonly Tool[]): PlanRules["tools"] {
  return { get: (name) => tools.find((tool) => tool.name === name), all: () => tools };
}

export function check(plan: unknown, rules: Partial<PlanRules> = {}): CheckedPlan {
  return checkPlan(plan, { tools: toolsNamed(stageTools), context: {}, strict: false, ...rules });
}

export function reasonsFor(plan: unknown, rules: Partial<PlanRules> = {}): readonly string[] {
  const checked = check(plan, rules);
  return checked.ok ? [] : checked.reasons.map(({ path, message }) => `${path}: ${message}`);
}

export function accepted(plan: unknown, rules: Partial<PlanRules> = {}): Plan {
  const checked = check(plan, rules);
  if (!checked.ok) throw new Error(JSON.stringify(checked.reasons));
  return checked.plan;
}

/** The second of two steps; the first, `first`, asks. */
export function stepAfter(step: object, rules: Partial<PlanRules> = {}): PlanStep {
  return accepted(planWith(step), rules).steps[1] as PlanStep;
}

export function reasonsAfter(step: object, rules: Partial<PlanRules> = {}): readonly string[] {
  return reasonsFor(planWith(step), rules).map((reason) => reason.replace(/^\/steps\/1/, ""));
}

function planWith(step: object): object {
  return {
    steps: [
      { step_id: "first", name: "ask" },
      { step_id: "second", name: "ask", ...step },
    ],
  };
}
