import type { NamePattern } from "../../core/approval/name-pattern.ts";
import type { ToolFacts } from "../../core/call/proposal.ts";
import { checkJson } from "../../core/json/check-json.ts";
import { FieldReader } from "../../core/json/field-reader.ts";
import { pointerTo } from "../../core/json/json-pointer.ts";
import { ProblemList, type Reason } from "../../core/json/problem-list.ts";
import { planLimits } from "../../core/plan/plan.ts";
import type { ExpressionLanguage } from "../../core/ports/expression.ts";
import { type Mode, modes } from "../../core/values/effect.ts";
import { nameForm, nameRule } from "../../core/values/is-name.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import { riskLevels } from "../rules/call-selector.ts";
import type { Rule } from "../rules/rule.ts";
import { RuleFieldReader } from "../rules/rule-field-reader.ts";
import type { StateInvariant } from "../rules/state-invariant.ts";
import { parseRule, type RuleLocation } from "./parse-rule.ts";

/** The limits on a policy document. */
export const policyLimits = { bytes: 256 * 1024, depth: 16, nodes: 20_000, rules: 1000 } as const;

/** A parsed policy document. */
export interface PolicyDocument {
  readonly name: string;
  readonly scope: PolicyScope;
  /** The roles that the policy accepts; null: every role. */
  readonly roles: readonly string[] | null;
  readonly mode: Mode | null;
  readonly maxSteps: Readonly<Partial<Record<Mode, number>>>;
  readonly trust: readonly TrustRule[];
  readonly rules: readonly Rule[];
  readonly invariants: readonly StateInvariant[];
  readonly document: JsonObject;
}

/** The runs that a policy applies to. Without a tenant, it applies to all tenants. */
export interface PolicyScope {
  readonly tenant?: string;
  readonly project?: string;
  readonly session?: string;
}

/** Tools that may act without approval, up to a risk level. */
export interface TrustRule {
  readonly tools: readonly NamePattern[];
  readonly risk: ToolFacts["risk"];
  /** The number of approved and successful calls of the principal, since the last refused or undone one. 0: at once. */
  readonly after: number;
}

export type ParsedPolicy =
  | { readonly ok: true; readonly policy: PolicyDocument }
  | { readonly ok: false; readonly reasons: readonly Reason[] };

const documentFields = ["schema_version", "name", "scope", "roles", "mode", "max_steps", "trust", "rules"];
const TRUST_AFTER = { min: 1, max: 10_000 };
const NAME = { pattern: /^[A-Za-z0-9][\w.-]{0,63}$/, form: "1 to 64 letters, digits, dots, dashes or underscores" };
const SCOPE_NAME = { pattern: nameForm, form: `a name of ${nameRule}` };

/** Parses a policy document. A document with any error is rejected as a whole, with all reasons. */
export function parsePolicy(raw: unknown, language: ExpressionLanguage): ParsedPolicy {
  const checked = checkJson(raw, policyLimits);
  if (!checked.ok) return { ok: false, reasons: checked.reasons };
  if (!isJsonObject(checked.value)) return { ok: false, reasons: [{ path: "", message: "a policy is an object" }] };
  const reasons = new ProblemList();
  const policy = parseDocument(checked.value, language, reasons);
  return reasons.isEmpty ? { ok: true, policy } : { ok: false, reasons: reasons.list };
}

function parseDocument(raw: JsonObject, language: ExpressionLanguage, reasons: ProblemList): PolicyDocument {
  const document = new FieldReader(raw, "", reasons);
  document.refuseUnknown(documentFields);
  if (document.value("schema_version") !== "1.0") document.addReason("schema_version", 'must be "1.0"');
  const name = document.text("name", NAME, null);
  if (name === null) document.addReason("name", "is required: the name of the policy in the record");
  const anyRole = new RuleFieldReader(reasons, language, null);
  const scope = parseScope(anyRole.object(document, "scope") ?? anyRole.empty);
  const roles = anyRole.roles(document, "roles");
  const reader = new RuleFieldReader(reasons, language, roles);
  return {
    name: name ?? "",
    scope,
    roles,
    mode: document.choice("mode", modes, null),
    maxSteps: parseMaxSteps(anyRole.object(document, "max_steps") ?? anyRole.empty),
    trust: parseTrust(document, scope, reader),
    ...parseRules(document, reader, {
      prefix: `${layerOf(scope)}/${name}`,
      place: `${layerOf(scope)}${scopeSuffix(scope)}/${name}`,
    }),
    document: raw,
  };
}

/** Returns the layer of a scope: a session belongs to a project, a project to a tenant, and global applies to all. */
export function layerOf({ tenant, project, session }: PolicyScope): "global" | "tenant" | "project" | "session" {
  if (session !== undefined) return "session";
  if (project !== undefined) return "project";
  return tenant === undefined ? "global" : "tenant";
}

/** Makes the location of two scopes in the same layer differ. */
function scopeSuffix({ project, session }: PolicyScope): string {
  if (session !== undefined) return `(${encodeURIComponent(project ?? "")},${encodeURIComponent(session)})`;
  return project === undefined ? "" : `(${encodeURIComponent(project)})`;
}

function parseScope(scope: FieldReader): PolicyScope {
  scope.refuseUnknown(["tenant", "project", "session"]);
  const read = ["tenant", "project", "session"].map((name) => [name, scope.text(name, SCOPE_NAME, null)] as const);
  const parsed = Object.fromEntries(read.filter(([, value]) => value !== null)) as PolicyScope;
  if (parsed.tenant === undefined && layerOf(parsed) !== "global")
    scope.addReason("tenant", "is required with a project or session");
  return parsed;
}

function parseMaxSteps(steps: FieldReader): PolicyDocument["maxSteps"] {
  steps.refuseUnknown(modes);
  const read = modes.map((mode) => [mode, steps.wholeNumber(mode, { min: 0, max: planLimits.steps })] as const);
  return Object.fromEntries(read.filter(([, max]) => max !== null));
}

/** Trust loosens a policy, so only the global and tenant layers may grant it. The lower layers can only restrict. */
function parseTrust(document: FieldReader, scope: PolicyScope, reader: RuleFieldReader): readonly TrustRule[] {
  const list = document.list("trust");
  if (list.length > 0 && ["project", "session"].includes(layerOf(scope)))
    document.addReason(
      "trust",
      "is only allowed in a global or tenant policy; projects and sessions can only restrict",
    );
  return objectsIn(list, pointerTo("", "trust"), reader).map((trust) => {
    trust.refuseUnknown(["tools", "risk", "after"]);
    const tools = reader.namePatterns(trust, "tools");
    if (tools === null) trust.addReason("tools", "is required: the tools that are trusted");
    return {
      tools: tools ?? [],
      risk: trust.choice("risk", riskLevels, "medium"),
      after: trust.wholeNumber("after", TRUST_AFTER) ?? 0,
    };
  });
}

function parseRules(
  document: FieldReader,
  reader: RuleFieldReader,
  location: RuleLocation,
): Pick<PolicyDocument, "rules" | "invariants"> {
  const list = document.list("rules");
  if (list.length > policyLimits.rules) document.addReason("rules", `are more than ${policyLimits.rules}`);
  const rules: Rule[] = [];
  const invariants: StateInvariant[] = [];
  for (const raw of objectsIn(list.slice(0, policyLimits.rules), pointerTo("", "rules"), reader)) {
    const rule = parseRule(raw, reader, location);
    if (rule === null) continue;
    if ([...rules, ...invariants].some(({ id }) => id === rule.id))
      raw.addReason("id", "is the id of an earlier rule; each id must be unique");
    if ("about" in rule) invariants.push(rule);
    else rules.push(rule);
  }
  return { rules, invariants };
}

/** Returns readers of the objects in a list, and adds a reason for every other item. */
function objectsIn(list: readonly Json[], path: string, reader: RuleFieldReader): readonly FieldReader[] {
  return list.flatMap((item, index) => {
    const at = pointerTo(path, index);
    if (isJsonObject(item)) return [new FieldReader(item, at, reader.reasons)];
    reader.reasons.add(at, "must be an object");
    return [];
  });
}
