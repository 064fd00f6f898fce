import { type Mode, modes } from "../core/effect.ts";
import type { Language } from "../core/expression.ts";
import { checkJson } from "../core/json/check-json.ts";
import { Fields } from "../core/json/fields.ts";
import { isObject, type Json, type JsonObject } from "../core/json/json.ts";
import { pointerTo } from "../core/json/pointer.ts";
import { type Reason, Reasons } from "../core/json/reasons.ts";
import { planLimits } from "../core/plan/plan.ts";
import type { ToolFacts } from "../core/proposal.ts";
import type { Glob } from "./glob.ts";
import type { Invariant } from "./invariant.ts";
import { type RuleHome, readRule } from "./read-rule.ts";
import { Reader } from "./reader.ts";
import type { Rule } from "./rule.ts";
import { risks } from "./selector.ts";

/** Every limit on a policy has a name. */
export const policyLimits = { bytes: 256 * 1024, depth: 16, nodes: 20_000, rules: 1000 } as const;

/** One document of rules, read: what it is about and what it says. */
export interface PolicyPart {
  readonly name: string;
  readonly scope: PolicyScope;
  /** The roles there are; null: whichever is named. */
  readonly roles: readonly string[] | null;
  readonly mode: Mode | null;
  readonly maxSteps: Readonly<Partial<Record<Mode, number>>>;
  readonly trust: readonly Trust[];
  readonly rules: readonly Rule[];
  readonly invariants: readonly Invariant[];
  readonly document: JsonObject;
}

/** Whose runs a policy is for. Without a tenant: everybody's. */
export interface PolicyScope {
  readonly tenant?: string;
  readonly project?: string;
  readonly session?: string;
}

/** Tools that act without a person being asked, up to a risk. */
export interface Trust {
  readonly tools: readonly Glob[];
  readonly risk: ToolFacts["risk"];
  /** Once so many calls of whoever asks were approved and ended well, since one was refused or undone. 0: at once. */
  readonly after: number;
}

export type ReadPolicy =
  | { readonly ok: true; readonly policy: PolicyPart }
  | { readonly ok: false; readonly reasons: readonly Reason[] };

const fields = ["schema_version", "name", "scope", "roles", "mode", "max_steps", "trust", "rules"];
const AFTER = { min: 1, max: 10_000 };
const NAME = { pattern: /^[A-Za-z0-9][\w.-]{0,63}$/, form: "1 to 64 letters, digits, dots, dashes or underscores" };
const PLACE = { pattern: /^[^\p{Cc}\p{Cs}]{1,200}$/u, form: "a name of 1 to 200 printable characters" };

/** Reads a document of rules, or refuses it with every reason at once. Half of a policy is none. */
export function readPolicy(raw: unknown, language: Language): ReadPolicy {
  const checked = checkJson(raw, policyLimits);
  if (!checked.ok) return { ok: false, reasons: checked.reasons };
  if (!isObject(checked.value)) return { ok: false, reasons: [{ path: "", message: "a policy is an object" }] };
  const reasons = new Reasons();
  const policy = readDocument(checked.value, language, reasons);
  return reasons.none ? { ok: true, policy } : { ok: false, reasons: reasons.list };
}

function readDocument(raw: JsonObject, language: Language, reasons: Reasons): PolicyPart {
  const document = new Fields(raw, "", reasons);
  document.onlyKnown(fields);
  if (document.value("schema_version") !== "1.0") document.fault("schema_version", 'must be "1.0"');
  const name = document.text("name", NAME, null);
  if (name === null) document.fault("name", "is what the record calls the policy");
  const any = new Reader(reasons, language, null);
  const scope = readScope(any.inner(document, "scope") ?? any.empty);
  const roles = any.roles(document, "roles");
  const reader = new Reader(reasons, language, roles);
  return {
    name: name ?? "",
    scope,
    roles,
    mode: document.choice("mode", modes, null),
    maxSteps: readMaxSteps(any.inner(document, "max_steps") ?? any.empty),
    trust: readTrust(document, scope, reader),
    ...readRules(document, reader, {
      prefix: `${layerOf(scope)}/${name}`,
      place: `${layerOf(scope)}${whoseOf(scope)}/${name}`,
    }),
    document: raw,
  };
}

/** Who is above whom: a session is in a project, a project is a tenant's, and some rules are everybody's. */
export function layerOf({ tenant, project, session }: PolicyScope): "global" | "tenant" | "project" | "session" {
  if (session !== undefined) return "session";
  if (project !== undefined) return "project";
  return tenant === undefined ? "global" : "tenant";
}

/** A name within a place, so that no two places are called the same. */
function whoseOf({ project, session }: PolicyScope): string {
  if (session !== undefined) return `(${encodeURIComponent(project ?? "")},${encodeURIComponent(session)})`;
  return project === undefined ? "" : `(${encodeURIComponent(project)})`;
}

function readScope(scope: Fields): PolicyScope {
  scope.onlyKnown(["tenant", "project", "session"]);
  const read = ["tenant", "project", "session"].map((name) => [name, scope.text(name, PLACE, null)] as const);
  const said = Object.fromEntries(read.filter(([, value]) => value !== null)) as PolicyScope;
  if (said.tenant === undefined && layerOf(said) !== "global")
    scope.fault("tenant", "is whose project or session it is");
  return said;
}

function readMaxSteps(steps: Fields): PolicyPart["maxSteps"] {
  steps.onlyKnown(modes);
  const read = modes.map((mode) => [mode, steps.whole(mode, { min: 0, max: planLimits.steps })] as const);
  return Object.fromEntries(read.filter(([, most]) => most !== null));
}

/** Trust makes something easier, so that it is for those above to give: a lower layer only makes it harder. */
function readTrust(document: Fields, scope: PolicyScope, reader: Reader): readonly Trust[] {
  const list = document.list("trust");
  if (list.length > 0 && ["project", "session"].includes(layerOf(scope)))
    document.fault("trust", "is for a tenant to give, or for everybody; a project or a session only asks for more");
  return each(list, pointerTo("", "trust"), reader).map((trust) => {
    trust.onlyKnown(["tools", "risk", "after"]);
    const tools = reader.globs(trust, "tools");
    if (tools === null) trust.fault("tools", "is what is trusted");
    return { tools: tools ?? [], risk: trust.choice("risk", risks, "medium"), after: trust.whole("after", AFTER) ?? 0 };
  });
}

function readRules(document: Fields, reader: Reader, home: RuleHome): Pick<PolicyPart, "rules" | "invariants"> {
  const list = document.list("rules");
  if (list.length > policyLimits.rules) document.fault("rules", `are more than ${policyLimits.rules}`);
  const rules: Rule[] = [];
  const invariants: Invariant[] = [];
  for (const raw of each(list.slice(0, policyLimits.rules), pointerTo("", "rules"), reader)) {
    const rule = readRule(raw, reader, home);
    if (rule === null) continue;
    if ([...rules, ...invariants].some(({ id }) => id === rule.id))
      raw.fault("id", "is the id of an earlier rule; the record could not tell them apart");
    if ("about" in rule) invariants.push(rule);
    else rules.push(rule);
  }
  return { rules, invariants };
}

/** The objects of a list; what is none is told. */
function each(list: readonly Json[], path: string, reader: Reader): readonly Fields[] {
  return list.flatMap((item, index) => {
    const at = pointerTo(path, index);
    if (isObject(item)) return [new Fields(item, at, reader.reasons)];
    reader.reasons.add(at, "must be an object");
    return [];
  });
}
