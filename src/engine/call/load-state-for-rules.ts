import type { Proposal } from "../../core/call/proposal.ts";
import { stateConditions } from "../../core/plan/condition.ts";
import type { Run, Step } from "../../core/run/run.ts";
import { resolveStatePointer } from "../../core/state/named-state-pointers.ts";
import { readStateValue, recordedPointer } from "../../core/state/read-state-value.ts";
import { worseEffect } from "../../core/values/effect.ts";
import { openRunState } from "../state/attempt-state.ts";
import type { CallPorts } from "./call-ports.ts";

/** Returns the paths of state that judge a call: those of the rules, and those of the conditions of the step. */
export function policyStatePointers(ports: CallPorts, run: Run, step: Step, proposal: Proposal): readonly string[] {
  const conditions = stateConditions(step.spec);
  const ruled = pointersOfRules(ports, run, step, proposal);
  return conditions.length === 0 ? ruled : [...new Set([...ruled, ...conditions.map(({ state }) => state)])];
}

/** Returns the paths of state that the rules read: the policies, the tool's conditions and the guards. */
function pointersOfRules(ports: CallPorts, run: Run, step: Step, proposal: Proposal): readonly string[] {
  if (proposal.tool === null) return NONE;
  const { guardPointers } = ports.rules;
  const conditions = ports.rules.conditionsOf(proposal.tool.name);
  const byPolicy = pointersOfPolicy(ports, run, step, proposal);
  if (conditions.length === 0 && guardPointers.length === 0) return byPolicy;
  const own = conditions.flatMap(({ pointers }) => pointers ?? NONE);
  return [
    ...byPolicy,
    ...[...own, ...guardPointers].flatMap(([, pointer]) => resolveStatePointer(pointer, proposal.input) ?? NONE),
  ];
}

function pointersOfPolicy({ policies, clock }: CallPorts, run: Run, step: Step, proposal: Proposal): readonly string[] {
  const policy = policies.of(run);
  if (policy === null || proposal.tool === null) return NONE;
  const effect = worseEffect(step.spec.effect, proposal.tool.effect);
  const now = clock.now();
  return policy.statePointersFor({ run, step, proposal, effect, now, policy, closure: null, conditions: NONE });
}

const NONE: readonly never[] = [];

/** Returns the proposal with the current state at the paths that the policies read. */
export async function withStateForRules(ports: CallPorts, run: Run, step: Step, proposal: Proposal): Promise<Proposal> {
  const wanted = policyStatePointers(ports, run, step, proposal);
  const { policy_state: seen } = proposal;
  if (wanted.length === 0 ? seen === null : seen !== null && wanted.every((place) => Object.hasOwn(seen.places, place)))
    return proposal;
  if (wanted.length === 0) return { ...proposal, policy_state: null };
  const project = await openRunState(ports, run);
  project.leave();
  const { head, key } = project;
  const terms = { slices: ports.slices, session: run.session ?? "" };
  const check = { table: "project", key, was: head.version === 0 ? null : head.version } as const;
  return {
    ...proposal,
    policy_state: {
      places: Object.fromEntries(wanted.map((place) => [place, readStateValue(head.state, terms, place)])),
      recorded: wanted.map((place) => recordedPointer(terms, place)),
      version: head.version,
      check,
    },
  };
}
