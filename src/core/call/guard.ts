import { combineDemands, coversDemand, type Demand, isDemand } from "../approval/approval-demand.ts";
import type { Basis, Objection } from "../approval/verdict-basis.ts";
import { isPlainObject } from "../json/plain-object.ts";
import type { LimitSet } from "../limits/budget.ts";
import type { Expression } from "../ports/expression.ts";
import type { Run, Step } from "../run/run.ts";
import type { DeclaredState, NamedStatePointers } from "../state/named-state-pointers.ts";
import type { StateAfterPatch } from "../state/state-after-patch.ts";
import type { Check } from "../store/store.ts";
import type { ProjectLock } from "../store/tables.ts";
import type { AskedValue } from "../tool/asked-data.ts";
import type { Effect, Mode } from "../values/effect.ts";
import { type Fault, fault, faults } from "../values/fault.ts";
import type { Instant } from "../values/ids.ts";
import type { Json } from "../values/json.ts";
import type { Proposal, ToolFacts } from "./proposal.ts";

/** The input of a guard: all facts that it may use. */
export interface Admission {
  readonly run: Run;
  readonly step: Step;
  readonly proposal: Proposal;
  readonly effect: Effect;
  readonly now: Instant;
  /** Null if no policy is in force. */
  readonly policy: Policy | null;
  /** The lock of the project of the run. Null if it is not locked, or the run has no project. */
  readonly closure: ProjectLock | null;
  /** The preconditions of the tool, compiled. */
  readonly conditions: readonly ToolCondition[];
  /** True: the call is on record, and the rules judge who may have it. Rules about the moment do not apply. */
  readonly recorded?: boolean;
}

/** A precondition that a tool declares for every call, compiled. */
export interface ToolCondition {
  readonly id: string;
  readonly expression: Expression;
  /** The state that the expression reads. Null: none. */
  readonly pointers: NamedStatePointers | null;
}

/** The compiled rules that decide a command. They are not part of the command, which names its policy by version. */
export interface Rules {
  readonly guards: readonly Guard[];
  /** Returns the policy in force for a run, or null if there is none. */
  policyFor(run: Run): Policy | null;
  /** The state that the guards of the user read. */
  readonly guardPointers: NamedStatePointers;
  /** Returns the preconditions of a tool. */
  conditionsOf(tool: string): readonly ToolCondition[];
}

/** The rules that are in force for a run, from all layers. */
export interface Policy {
  /** Identifies exactly these rules. */
  readonly version: string;
  /** The rows that the rules were read from. A decision is appended only if they have not changed. */
  readonly checks: readonly Check[];
  /** The maximum mode of a run. Null if the rules do not limit it. */
  readonly mode: Mode | null;
  /** The maximum number of steps of a run with this mode. Null if only the plan limit applies. */
  maxSteps(mode: Mode): number | null;
  /** True if this tool may act without an approval. */
  trusts(tool: ToolFacts, earned: number): boolean;
  /** True if a principal can earn trust with this tool. */
  earns(tool: ToolFacts): boolean;
  /** All limits that the rules set. */
  readonly limits: readonly LimitSet[];
  /** The limits that apply to a call. Its start charges them, like the limits in the settings of the tenant. */
  limitsFor(admission: Admission): readonly LimitSet[];
  /** JSON pointers to the parts of the state that the rules read to judge this call. */
  statePointersFor(admission: Admission): readonly string[];
  /** Returns the fault of the first invariant that a state change breaks, or null. */
  brokenInvariant(aftermath: () => StateAfterPatch): Fault | null;
  judge(admission: Admission): Verdict;
}

/** `basis` is present if more than one rule contributed. */
export type Verdict = { readonly basis?: Basis } & (
  | { readonly kind: "allow" }
  | {
      readonly kind: "hold";
      readonly rule: string;
      readonly reason: string;
      readonly demand: Demand;
      /** The values that the call lacks. The guards after this one judge the call that has them. */
      readonly asks?: readonly AskedValue[];
    }
  | { readonly kind: "refuse"; readonly rule: string; readonly fault: Fault }
);

/** A rule that judges a call. It is pure and synchronous and does not throw. */
export interface Guard {
  readonly id: string;
  judge(admission: Admission): Verdict;
}

/** A guard of the user. Its version changes whenever its judgement does: it is part of the rules that a run carries. */
export interface VersionedGuard {
  readonly id: string;
  readonly version: string;
  /** The state that it reads, by name. A call whose state cannot be read is refused. */
  readonly state?: DeclaredState;
  /** Judges a call. `state` has the declared state when the call starts, without absent values. */
  judge(admission: Admission, state: Readonly<Record<string, Json>>): Verdict;
}

export const ALLOW: Verdict = { kind: "allow" };

/**
 * Evaluates the guards in order. The first refusal ends the evaluation and wins; otherwise the strictest hold wins. A
 * guard that throws refuses. The basis of the verdict lists all objections.
 */
export function evaluateGuards(guards: readonly Guard[], admission: Admission): Verdict {
  let verdict: Verdict = ALLOW;
  let policy: Basis | null = null;
  const objections: Objection[] = [];
  for (const guard of guards) {
    const next = evaluateGuard(guard, admission);
    if (next === ALLOW) continue;
    policy = next.basis ?? policy;
    objections.push(...objectionsIn(next));
    if (next.kind === "hold") verdict = verdict.kind === "hold" ? stricterHold(verdict, next) : next;
    if (next.kind === "refuse" || isAsking(next)) {
      verdict = next;
      break;
    }
  }
  if (policy === null && objections.length < 2) return verdict;
  return { ...verdict, basis: { policy: null, passed: [], ...policy, objections } };
}

/** True if the call is not complete yet. */
export function isAsking(verdict: Verdict): verdict is AskingVerdict {
  return verdict.kind === "hold" && verdict.asks !== undefined;
}

function objectionsIn(verdict: Verdict): readonly Objection[] {
  if (verdict.basis !== undefined) return verdict.basis.objections;
  if (verdict.kind === "allow") return [];
  const reason = verdict.kind === "hold" ? verdict.reason : verdict.fault.message;
  return [{ rule: verdict.rule, says: verdict.kind, reason }];
}

export type HoldVerdict = Extract<Verdict, { kind: "hold" }>;
export type AskingVerdict = HoldVerdict & Required<Pick<HoldVerdict, "asks">>;

/** Combines two holds into one with both demands. The reason is that of the stricter hold, or of both. */
export function stricterHold(first: HoldVerdict, second: HoldVerdict): HoldVerdict {
  const demand = combineDemands(first.demand, second.demand);
  if (coversDemand(first.demand, second.demand)) return { ...first, demand };
  if (coversDemand(second.demand, first.demand)) return { ...second, demand };
  return { ...first, reason: `${first.reason}; ${second.reason}`, demand };
}

function evaluateGuard(guard: Guard, admission: Admission): Verdict {
  let why = "it returned no verdict";
  try {
    const answer: unknown = guard.judge(admission);
    if (answer === ALLOW || isVerdict(answer)) return answer as Verdict;
  } catch (error) {
    why = error instanceof Error ? error.message : "unknown error";
  }
  const message = `guard ${guard.id} failed on ${admission.step.spec.step_id}: ${why}; fix the guard`;
  return { kind: "refuse", rule: guard.id, fault: fault("POLICY_DENIED", message) };
}

/** Guards may be written in JavaScript: a promise or a misspelt kind must not count as "allow". */
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
