import type { Digest, EffectKey, Instant, RunId, StepId, Tenant } from "../../core/id.ts";
import { canonical } from "../../core/json/canonical.ts";
import type { Json } from "../../core/json/json.ts";
import type { Condition, Plan, PlanStep } from "../../core/plan/plan.ts";
import type { Principal } from "../../core/principal.ts";
import type { LedgerFact, ToolFacts } from "../../core/proposal.ts";
import type { LedgerRow } from "../../core/rows.ts";
import type { Cost } from "../../core/tool.ts";

/** Named people and things, so that a test reads like a story. */

export const acme = "acme" as Tenant;
/** The run that every story is about, and one that it only hears of. */
export const hire = "run_hire" as RunId;
export const order = "run_order" as RunId;

export const noon = Date.UTC(2026, 2, 14, 12) as Instant;
export const later = (ms: number): Instant => (noon + ms) as Instant;

/** An agent asks, people decide, a service does neither. */
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
  timeoutMs: 30_000,
  tries: null,
  settleAfterMs: 60_000,
  confirm: "none",
  idempotentForMs: null,
  errorsMean: "unknown",
  onDuplicate: "hold",
  safeIfAbsent: false,
  verifies: false,
  compensates: false,
  conditions: [],
};

/** One tool of each effect. */
export const addUp: ToolFacts = plainTool;
export const readPage: ToolFacts = { ...plainTool, name: "page.read", effect: "reads" };
export const keepNote: ToolFacts = { ...plainTool, name: "note.keep", effect: "writes" };
export const sendMail: ToolFacts = { ...plainTool, name: "mail.send", effect: "acts" };

export type StepWish = Partial<Omit<PlanStep, "step_id" | "depends_on">> & {
  readonly tool?: ToolFacts;
  readonly after?: readonly string[];
};

/** A step in its normal form: an operator of its tool, with the plan's defaults. */
export function step(id: string, { tool = addUp, after = [], ...wish }: StepWish = {}): PlanStep {
  const made: PlanStep = {
    step_id: id as StepId,
    kind: "operator",
    name: tool.name,
    payload: { to: id },
    effect: tool.effect,
    policy_tags: [],
    gate: "none",
    cache_policy: "never",
    idempotency_template: null,
    depends_on: after as readonly StepId[],
    bindings: {},
    on_failure: "abort",
    on_rejected: "stop",
    retries: null,
    timeout_ms: null,
    preconditions: [],
    outcome: null,
    state_reads: null,
    state_writes: null,
    ...wish,
  };
  toolsOfSteps.set(made, tool);
  return made;
}

/** A plan only names its tools; this remembers what each step was made with, so that a story says it once. */
const toolsOfSteps = new WeakMap<PlanStep, ToolFacts>();

export function toolOf(spec: PlanStep): ToolFacts | null {
  if (spec.kind !== "operator") return null;
  return toolsOfSteps.get(spec) ?? [addUp, readPage, keepNote, sendMail].find(({ name }) => name === spec.name) ?? null;
}

export function wait(
  id: string,
  payload: { readonly ms?: number; readonly until?: Instant; readonly signal?: string },
  wish: StepWish = {},
): PlanStep {
  return step(id, { kind: "wait", name: "wait", payload, ...wish });
}

export function assertion(id: string, claim: Condition, wish: StepWish = {}): PlanStep {
  return step(id, { kind: "assertion", name: "assertion", payload: { ...claim }, after: [claim.step], ...wish });
}

export function claim(of: string, path: string, operator: Condition["operator"], value: Json = null): Condition {
  return { step: of as StepId, path, operator, value };
}

export function plan(...steps: readonly PlanStep[]): Plan {
  return { plan_id: "plan_1", schema_version: "1.0", intent_id: null, steps };
}

/** Not a hash, but as good: different values have different digests. */
export function digestOf(value: Json): Digest {
  return `digest ${canonical(value)}` as Digest;
}

export function keyOf(name: string): EffectKey {
  return `key ${name}` as EffectKey;
}

export function cost(usd_micros: number, more: Partial<Cost> = {}): Cost {
  return { usd_micros, credits: 0, tokens_in: 0, tokens_out: 0, model: "", ...more };
}

/** What the ledger says of `send`, unless wished otherwise: another run has done it. */
export function ledgerFact(row: Partial<LedgerRow> = {}, fact: Partial<Omit<LedgerFact, "row">> = {}): LedgerFact {
  const foreign: LedgerRow = {
    key: keyOf("send"),
    state: "committed",
    generation: 1,
    tool: sendMail.name,
    run_id: order,
    origin: order,
    step_id: "send" as StepId,
    attempt: 1,
    input_digest: digestOf({ to: "send" }),
    receipt: 7,
    usable: true,
    ...row,
  };
  return { version: 5, row: foreign, receipt: { output: { id: "mail 1" }, at: later(-1000) }, sighting: null, ...fact };
}
