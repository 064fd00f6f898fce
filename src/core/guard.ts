import type { Effect } from "./effect.ts";
import type { Demand } from "./event.ts";
import { type Fault, fault, faults } from "./fault.ts";
import type { Instant } from "./id.ts";
import { isPlainObject } from "./plain-object.ts";
import type { Proposal } from "./proposal.ts";
import type { Run, Step } from "./run.ts";

/** What a guard looks at. Everything it may rely on is in here. */
export interface Admission {
  readonly run: Run;
  readonly step: Step;
  readonly proposal: Proposal;
  readonly effect: Effect;
  readonly now: Instant;
}

export type Verdict =
  | { readonly kind: "allow" }
  | { readonly kind: "hold"; readonly rule: string; readonly reason: string; readonly demand: Demand }
  | { readonly kind: "refuse"; readonly rule: string; readonly fault: Fault };

/** One rule of admission. It looks and answers; it never writes, waits or throws. */
export interface Guard {
  readonly id: string;
  judge(admission: Admission): Verdict;
}

export const ALLOW: Verdict = { kind: "allow" };

/**
 * Asks every guard in order. The first refusal wins; a hold stands only if nobody refuses, and of several the strictest.
 * A guard that throws refuses.
 */
export function judge(guards: readonly Guard[], admission: Admission): Verdict {
  let verdict: Verdict = ALLOW;
  for (const guard of guards) {
    const answer = ask(guard, admission);
    if (answer.kind === "refuse") return answer;
    if (answer.kind === "hold") verdict = verdict.kind === "hold" ? stricter(verdict, answer) : answer;
    if (verdict.kind === "refuse") return verdict;
  }
  return verdict;
}

type Hold = Extract<Verdict, { kind: "hold" }>;

/** Whoever names a role asks for more than whoever takes anyone. Two roles would need two people, which no gate has. */
function stricter(first: Hold, second: Hold): Verdict {
  const [one, two] = [first.demand.role, second.demand.role];
  if (two === null || one === two) return first;
  if (one === null) return second;
  const message = `${first.rule} asks for a ${one} and ${second.rule} for a ${two}; one gate has one role, so let one rule ask`;
  return { kind: "refuse", rule: second.rule, fault: fault("POLICY_DENIED", message) };
}

function ask(guard: Guard, admission: Admission): Verdict {
  let why = "it answered with no verdict";
  try {
    const answer: unknown = guard.judge(admission);
    if (isVerdict(answer)) return answer;
  } catch (error) {
    why = error instanceof Error ? error.message : "unknown error";
  }
  const message = `guard ${guard.id} failed on ${admission.step.spec.step_id}: ${why}; fix the guard`;
  return { kind: "refuse", rule: guard.id, fault: fault("POLICY_DENIED", message) };
}

/** A guard may be written without a type checker; a promise or a misspelt word must not pass for "allow". */
function isVerdict(answer: unknown): answer is Verdict {
  const { kind, rule, reason, demand, fault: why } = (answer ?? {}) as Readonly<Record<string, unknown>>;
  if (kind === "allow") return true;
  if (typeof rule !== "string") return false;
  if (kind === "hold") return typeof reason === "string" && isPlainObject(demand);
  return kind === "refuse" && isPlainObject(why) && Object.hasOwn(faults, String(why.code));
}
