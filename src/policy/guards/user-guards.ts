import type { Admission, Guard, Verdict, VersionedGuard } from "../../core/call/guard.ts";
import type { ExpressionLanguage } from "../../core/ports/expression.ts";
import { collectState, type NamedStatePointers } from "../../core/state/named-state-pointers.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { parseStateReads } from "../parser/parse-state-reads.ts";

/** A guard of the user, with the state that it reads. */
export interface UserGuard extends Guard {
  readonly pointers: NamedStatePointers;
}

/** Makes the guards of an engine from those of the user. Throws INVALID_INPUT if one declares its state wrongly. */
export function userGuards(guards: readonly VersionedGuard[], language: ExpressionLanguage): readonly UserGuard[] {
  return guards.map((guard) => {
    const pointers = guard.state === undefined ? [] : parseStateReads(guard.state, language);
    if ("wrong" in pointers)
      throw new FaultError(fault("INVALID_INPUT", `guard ${guard.id} declares state wrongly: ${pointers.wrong}`));
    return { id: guard.id, pointers, judge: (admission) => judgeWithState(guard, pointers, admission) };
  });
}

/** Refuses a call whose declared state cannot be read. */
function judgeWithState(guard: VersionedGuard, pointers: NamedStatePointers, admission: Admission): Verdict {
  const { input, policy_state } = admission.proposal;
  const collected = collectState(pointers, input, (path) => policy_state?.places[path]);
  if ("state" in collected) return guard.judge(admission, collected.state);
  const message = `guard ${guard.id} cannot judge ${admission.step.spec.step_id}: ${collected.wrong}`;
  return { kind: "refuse", rule: guard.id, fault: fault("POLICY_DENIED", message) };
}
