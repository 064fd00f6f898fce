import { type Fault, fault } from "../values/fault.ts";
import { allowsTool, type Principal, stateBounds } from "./principal.ts";
import { type Reach, type Verb, type VerbRule, verbRules } from "./verb-rules.ts";

/** The object that a verb is used on, as far as its rule needs it. */
export interface VerbTarget {
  /** The principal that submitted the run. Null: the object is not a run. */
  readonly by: string | null;
  readonly project: string | null;
}

export interface VerbFacts extends VerbTarget {
  /** The role that the tenant's settings name as its admin role, or null. */
  readonly admin: string | null;
}

/** The facts about a verb that is not about a run or a project, in a tenant without an admin role. */
export const NO_FACTS: VerbFacts = { by: null, project: null, admin: null };

/** Returns how much of its tenant the principal may use the verb on. */
export function verbReach({ kind }: Pick<Principal, "kind">, verb: Verb): Reach {
  return verbRules[verb][kind];
}

/** Judges the use of a verb by the table: returns null if the principal may use it on the target, else the fault. */
export function judgeVerb(principal: Principal, verb: Verb, facts: VerbFacts): Fault | null {
  const rule: VerbRule = verbRules[verb];
  const why =
    kindProblem(principal, rule) ??
    reachProblem(principal, rule, facts) ??
    roleProblem(principal, rule, facts) ??
    capabilityProblem(principal, verb, rule);
  if (why === null) return null;
  return fault("AUTH_FORBIDDEN", `${principal.kind} ${principal.id} cannot ${rule.about}${why}`);
}

function kindProblem({ kind }: Principal, rule: VerbRule): string | null {
  if (rule[kind] !== "no") return null;
  return rule.service === "no" ? "; only a person can" : "; only a person or a service can";
}

function reachProblem(principal: Principal, rule: VerbRule, { by, project }: VerbTarget): string | null {
  const isOwn = by === principal.id;
  if (rule.wholeState && !isOwn && stateBounds(principal).length > 0)
    return ": its capabilities restrict it to parts of the state, and this concerns all of it";
  const reach = rule[principal.kind];
  if (reach === "tenant" || isOwn || (reach === "project" && project !== null)) return null;
  const whose = by === null ? "this is not about one of its own runs" : `${by} submitted the run`;
  return `: ${whose}; ask a person`;
}

function roleProblem({ roles = [] }: Principal, rule: VerbRule, { admin }: VerbFacts): string | null {
  const needed = rule.role === "admin" ? admin : (rule.role ?? null);
  return needed === null || roles.includes(needed) ? null : ` without the role ${needed}; ask a person with that role`;
}

function capabilityProblem({ capabilities = [] }: Principal, verb: Verb, rule: VerbRule): string | null {
  const [name] = verb.split(":") as [string];
  if (!rule.capability || capabilities.every((each) => allowsTool(each, name))) return null;
  return `: its capabilities do not allow ${name}`;
}
