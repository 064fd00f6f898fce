import type { Basis, Objection } from "./basis.ts";
import { bothOf, covers, type Demand, isDemand } from "./demand.ts";
import type { Effect, Mode } from "./effect.ts";
import { type Fault, fault, faults } from "./fault.ts";
import type { Instant } from "./id.ts";
import { isPlainObject } from "./json/plain-object.ts";
import type { Allowance } from "./limits/budget.ts";
import type { Proposal, ToolFacts } from "./proposal.ts";
import type { Closure } from "./rows.ts";
import type { Run, Step } from "./run.ts";
import type { Aftermath } from "./state/aftermath.ts";
import type { Check } from "./store.ts";

/** What a guard looks at. Everything it may rely on is in here. */
export interface Admission {
  readonly run: Run;
  readonly step: Step;
  readonly proposal: Proposal;
  readonly effect: Effect;
  readonly now: Instant;
  /** Null: nobody has made one. */
  readonly policy: Policy | null;
  /** Null: the run's project is open, or it has none. */
  readonly closure: Closure | null;
}

/** The rules that are in force for a run: those of every layer, as they were read. */
export interface Policy {
  /** Names exactly these rules. */
  readonly version: string;
  /** The rows they were read from, which must not have changed when something is decided by them. */
  readonly checks: readonly Check[];
  /** How far a run may go by itself; null: as far as its own mode. */
  readonly mode: Mode | null;
  /** How many steps a run of a mode may have; null: as many as a plan may. */
  stepsMost(mode: Mode): number | null;
  /** Whether a person need not be asked before this tool acts. */
  trusts(tool: ToolFacts, earned: number): boolean;
  /** Whether that can be earned. */
  earns(tool: ToolFacts): boolean;
  /** Every limit among the rules. */
  readonly limits: readonly Allowance[];
  /** Those of them that a call falls under. They are charged with its start, as the settings of a tenant are. */
  limitsFor(admission: Admission): readonly Allowance[];
  /** The places of state that have to be looked at before a call is judged, as JSON pointers. */
  placesFor(admission: Admission): readonly string[];
  /** Why state may not become what a change makes of it; null: it may. */
  broken(aftermath: () => Aftermath): Fault | null;
  judge(admission: Admission): Verdict;
}

/** `basis`: present where more than one rule had a say. */
export type Verdict = { readonly basis?: Basis } & (
  | { readonly kind: "allow" }
  | { readonly kind: "hold"; readonly rule: string; readonly reason: string; readonly demand: Demand }
  | { readonly kind: "refuse"; readonly rule: string; readonly fault: Fault }
);

/** One rule of admission. It looks and answers; it never writes, waits or throws. */
export interface Guard {
  readonly id: string;
  judge(admission: Admission): Verdict;
}

export const ALLOW: Verdict = { kind: "allow" };

/**
 * Asks every guard in order. The first refusal wins; a hold stands only if nobody refuses, and of several the strictest.
 * A guard that throws refuses. Whatever was said against it is on the verdict, not only what won.
 */
export function judge(guards: readonly Guard[], admission: Admission): Verdict {
  let verdict: Verdict = ALLOW;
  let policy: Basis | null = null;
  const objections: Objection[] = [];
  for (const guard of guards) {
    const answer = ask(guard, admission);
    if (answer === ALLOW) continue;
    policy = answer.basis ?? policy;
    objections.push(...objectionsIn(answer));
    if (answer.kind === "hold") verdict = verdict.kind === "hold" ? stricter(verdict, answer) : answer;
    if (answer.kind === "refuse") verdict = answer;
    if (verdict.kind === "refuse") break;
  }
  if (policy === null && objections.length < 2) return verdict;
  return { ...verdict, basis: { policy: null, passed: [], ...policy, objections } };
}

function objectionsIn(answer: Verdict): readonly Objection[] {
  if (answer.basis !== undefined) return answer.basis.objections;
  if (answer.kind === "allow") return [];
  const reason = answer.kind === "hold" ? answer.reason : answer.fault.message;
  return [{ rule: answer.rule, says: answer.kind, reason }];
}

export type Hold = Extract<Verdict, { kind: "hold" }>;

/** One gate asks for all that two ask for; it speaks for the one that asks for more, or for both. */
export function stricter(first: Hold, second: Hold): Hold {
  const demand = bothOf(first.demand, second.demand);
  if (covers(first.demand, second.demand)) return { ...first, demand };
  if (covers(second.demand, first.demand)) return { ...second, demand };
  return { ...first, reason: `${first.reason}; ${second.reason}`, demand };
}

function ask(guard: Guard, admission: Admission): Verdict {
  let why = "it answered with no verdict";
  try {
    const answer: unknown = guard.judge(admission);
    if (answer === ALLOW || isVerdict(answer)) return answer as Verdict;
  } catch (error) {
    why = error instanceof Error ? error.message : "unknown error";
  }
  const message = `guard ${guard.id} failed on ${admission.step.spec.step_id}: ${why}; fix the guard`;
  return { kind: "refuse", rule: guard.id, fault: fault("POLICY_DENIED", message) };
}

/** A guard may be written without a type checker; a promise or a misspelt word must not pass for "allow". */
function isVerdict(answer: unknown): answer is Verdict {
  const { kind, rule, reason, demand, fault: why, basis } = (answer ?? {}) as Readonly<Record<string, unknown>>;
  if (basis !== undefined && !isBasis(basis)) return false;
  if (kind === "allow") return true;
  if (typeof rule !== "string") return false;
  if (kind === "hold") return typeof reason === "string" && isDemand(demand);
  return kind === "refuse" && isPlainObject(why) && Object.hasOwn(faults, String(why.code));
}

function isBasis(basis: unknown): boolean {
  if (!isPlainObject(basis)) return false;
  const { policy, passed, objections } = basis;
  return (policy === null || typeof policy === "string") && Array.isArray(passed) && Array.isArray(objections);
}
