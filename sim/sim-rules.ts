import type { JsonObject } from "../src/core/values/json.ts";
import { Rng } from "./rng.ts";

/** The votes that a call of a tool needs. */
export interface RequiredVotes {
  readonly role: string;
  readonly people: number;
  /** The role that may also vote after `ms`; null: none. */
  readonly escalation: { readonly role: string; readonly ms: number } | null;
}

/** The approval, trust and parameter rules of a simulation, the same for every tenant. */
export interface SimRules {
  readonly requiredVotes: ReadonlyMap<string, RequiredVotes>;
  /** The tools that need no approval after `after` approved and successful calls. */
  readonly trustRule: { readonly tools: readonly string[]; readonly after: number };
  /** The tools whose input must not contain FORBIDDEN_TEXT. */
  readonly guardedTools: readonly string[];
  /** How often an operator sets a halt. */
  readonly halts: number;
  /** How often a person edits the input before approving it. */
  readonly edits: number;
  readonly policies: readonly JsonObject[];
}

/** A text that the policy forbids. No plan contains it; an edited call may. */
export const FORBIDDEN_TEXT = "a forbidden text";

/** Draws from a random source of its own, so that seeds without rules stay as they are. */
export function drawSimRules(
  seed: number,
  guardedTools: readonly string[],
  others: readonly string[],
): SimRules | null {
  const rng = new Rng(seed ^ 52_361);
  if (!rng.chance(0.2)) return null;
  // Calls on state are held more often, because they have previews.
  const tools = [...guardedTools, ...others];
  const asked = tools.filter((tool) => rng.chance(tool === "keep" ? 0.8 : 0.3));
  const requiredVotes = new Map(asked.map((tool) => [tool, drawRequiredVotes(rng)] as const));
  const trustRule = { tools: tools.filter(() => rng.chance(0.8)), after: rng.pick([1, 1, 2]) };
  const policies = [policyDocument(requiredVotes, trustRule, guardedTools)];
  return {
    requiredVotes,
    trustRule,
    guardedTools,
    halts: rng.pick([0, 0.2, 0.6]),
    edits: rng.pick([0, 0.1, 0.4]),
    policies,
  };
}

function drawRequiredVotes(rng: Rng): RequiredVotes {
  const escalation = rng.chance(0.5) ? { role: "boss", ms: rng.pick([1000, 8000, 60_000]) } : null;
  return { role: "lead", people: rng.between(1, 2), escalation };
}

/** Writes the rules as a policy document, the only form in which the engine receives them. */
function policyDocument(
  requiredVotes: SimRules["requiredVotes"],
  { tools, after }: SimRules["trustRule"],
  guardedTools: readonly string[],
): JsonObject {
  const approvals = Array.from(requiredVotes, ([tool, { role, people, escalation }]) => ({
    id: `ask-${tool}`,
    kind: "approval",
    on: { tools: [tool] },
    role,
    people,
    ...(escalation !== null && { escalate: { after_ms: escalation.ms, role: escalation.role } }),
  }));
  const what = { path: "/text", must_not: { equals: FORBIDDEN_TEXT } };
  const words = { id: "words", kind: "parameter", on: { tools: [...guardedTools] }, ...what };
  const trust = tools.length === 0 ? [] : [{ tools: [...tools], after, risk: "high" }];
  return { schema_version: "1.0", name: "house", trust, rules: [...approvals, words] };
}

/** The people who vote at gates. */
export const simApprovers: readonly { readonly id: string; readonly roles: readonly string[] }[] = [
  { id: "ana", roles: [] },
  { id: "lea", roles: ["lead"] },
  { id: "lou", roles: ["lead", "clerk"] },
  { id: "lim", roles: ["lead"] },
  { id: "bob", roles: ["boss"] },
  { id: "bea", roles: ["boss", "lead"] },
];
