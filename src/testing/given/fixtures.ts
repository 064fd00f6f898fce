import type { Principal } from "../../core/approval/principal.ts";
import type { LedgerFact, ToolFacts } from "../../core/call/proposal.ts";
import { canonicalJson } from "../../core/json/canonical-json.ts";
import { type OutputCondition, type Plan, type PlanStep, planStep } from "../../core/plan/plan.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import type { LedgerRow } from "../../core/store/tables.ts";
import type { Cost } from "../../core/tool/tool.ts";
import type { Digest, EffectKey, Instant, RunId, StepId, Tenant } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";

/** Named principals, tools and steps for the tests of decisions. */

export const acme = "acme" as Tenant;
/** The run under test, and another run that the ledger mentions. */
export const hireRun = "run_hire" as RunId;
export const orderRun = "run_order" as RunId;

export const noon = Date.UTC(2026, 2, 14, 12) as Instant;
export const later = (ms: number): Instant => (noon + ms) as Instant;

/** An agent proposes, people decide, a service does neither. */
export const robin: Principal = { id: "robin", kind: "agent", tenant: acme };
export const ana: Principal = { id: "ana", kind: "person", tenant: acme };
export const bob: Principal = { id: "bob", kind: "person", tenant: acme, roles: ["cfo"] };
export const cron: Principal = { id: "cron", kind: "service", tenant: acme };

const plainTool: ToolFacts = {
  name: "sums.add",
  version: "1",
  effect: "pure",
  tags: [],
  risk: "low",
  roles: [],
  confirmation: false,
  timeoutMs: 30_000,
  tries: null,
  retry: "named",
  asks: null,
  settleAfterMs: 60_000,
  confirm: "none",
  idempotentForMs: null,
  errorsMean: "unknown",
  onDuplicate: "hold",
  safeIfAbsent: false,
  verifies: false,
  compensates: false,
};

/** One tool of each effect. */
export const addUp: ToolFacts = plainTool;
export const readPage: ToolFacts = { ...plainTool, name: "page.read", effect: "reads" };
export const keepNote: ToolFacts = { ...plainTool, name: "note.keep", effect: "writes" };
export const sendMail: ToolFacts = { ...plainTool, name: "mail.send", effect: "acts" };

export type StepOptions = Partial<Omit<PlanStep, "step_id" | "depends_on">> & {
  readonly tool?: ToolFacts;
  readonly after?: readonly string[];
};

/** Makes a step that calls its tool, with the defaults of a plan. */
export function step(id: string, { tool = addUp, after = [], ...overrides }: StepOptions = {}): PlanStep {
  const planned = planStep({
    step_id: id as StepId,
    name: tool.name,
    payload: { to: id },
    effect: tool.effect,
    depends_on: after as readonly StepId[],
    ...overrides,
  });
  toolsOfSteps.set(planned, tool);
  return planned;
}

/** The tool that each step was made with, because a plan contains only tool names. */
const toolsOfSteps = new WeakMap<PlanStep, ToolFacts>();

export function toolOf(spec: PlanStep): ToolFacts | null {
  if (!stepKinds[spec.kind].callsTool) return null;
  return toolsOfSteps.get(spec) ?? [addUp, readPage, keepNote, sendMail].find(({ name }) => name === spec.name) ?? null;
}

export function planWait(
  id: string,
  payload: { readonly ms?: number; readonly until?: Instant; readonly signal?: string },
  overrides: StepOptions = {},
): PlanStep {
  return step(id, { kind: "wait", name: "wait", payload, ...overrides });
}

export function planAssertion(id: string, claim: OutputCondition, overrides: StepOptions = {}): PlanStep {
  return step(id, { kind: "assertion", name: "assertion", payload: { ...claim }, after: [claim.step], ...overrides });
}

export function conditionOn(
  of: string,
  path: string,
  operator: OutputCondition["operator"],
  value: Json = null,
): OutputCondition {
  return { step: of as StepId, path, operator, value };
}

export function plan(...steps: readonly PlanStep[]): Plan {
  return { plan_id: "plan_1", schema_version: "1.0", intent_id: null, steps };
}

/** Returns a digest that is unique per value, without hashing. */
export function fakeDigest(value: Json): Digest {
  return `digest ${canonicalJson(value)}` as Digest;
}

export function fakeKey(name: string): EffectKey {
  return `key ${name}` as EffectKey;
}

export function cost(usd_micros: number, more: Partial<Cost> = {}): Cost {
  return { usd_micros, credits: 0, tokens_in: 0, tokens_out: 0, model: "", ...more };
}

/** Makes the ledger fact for `send`. By default another run has committed the act. */
export function ledgerFact(row: Partial<LedgerRow> = {}, fact: Partial<Omit<LedgerFact, "row">> = {}): LedgerFact {
  const otherRunRow: LedgerRow = {
    key: fakeKey("send"),
    state: "committed",
    generation: 1,
    tool: sendMail.name,
    run_id: orderRun,
    origin: orderRun,
    step_id: "send" as StepId,
    attempt: 1,
    input_digest: fakeDigest({ to: "send" }),
    receipt: 7,
    usable: true,
    ...row,
  };
  return {
    version: 5,
    row: otherRunRow,
    receipt: {
      output: { id: "mail 1" },
      at: later(-1000),
      key: otherRunRow.key,
      generation: otherRunRow.generation,
      step_id: otherRunRow.step_id,
    },
    sighting: null,
    ...fact,
  };
}
